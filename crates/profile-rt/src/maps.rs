//! Where the kernel says that the calling thread's stack is mapped. Neither allocates nor waits.

use crate::shim;
use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Resource, getpid, getrlimit};
use rustix::thread::gettid;
use std::ops::Range;

/// As deep as the main thread's stack is taken to grow where nothing limits it.
const MAIN_MAX: u64 = 128 << 20;

/// Addresses that only the calling thread's own stack can have. `None`: that cannot be had.
pub(crate) fn stack_of_thread() -> Option<Range<u64>> {
    if gettid() == getpid() {
        let mapped = find(|line| line.ends_with(b"[stack]"))?;
        let grows = getrlimit(Resource::Stack).current.unwrap_or(MAIN_MAX);
        return Some(mapped.end.saturating_sub(grows).min(mapped.start)..mapped.end);
    }
    // The C library keeps what it knows of a thread at the end of its stack.
    let end = shim::thread_pointer();
    let mapped = find(|line| line.range().contains(&end))?;
    Some(mapped.start..end)
}

/// Whether two addresses lie in one mapping; so they do where that cannot be had.
pub(crate) fn is_one(address: u64, other: u64) -> bool {
    find(|line| line.range().contains(&address)).is_none_or(|mapped| mapped.contains(&other))
}

/// What is needed of a line: `low-high perms offset dev inode    path`.
struct Line {
    bounds: [u64; 2],
    /// Which of them is being read; beyond them, neither.
    field: usize,
    last: [u8; LAST],
}

/// As long as the longest name that is asked for.
const LAST: usize = 7;

impl Line {
    const EMPTY: Self = Self { bounds: [0; 2], field: 0, last: [0; LAST] };

    fn push(&mut self, byte: u8) {
        self.last.rotate_left(1);
        self.last[LAST - 1] = byte;
        match (char::from(byte).to_digit(16), self.bounds.get_mut(self.field)) {
            (Some(digit), Some(bound)) => *bound = *bound << 4 | u64::from(digit),
            (None, Some(_)) => self.field += 1,
            (_, None) => {}
        }
    }

    const fn range(&self) -> Range<u64> {
        self.bounds[0]..self.bounds[1]
    }

    fn ends_with(&self, name: &[u8; LAST]) -> bool {
        self.last == *name
    }
}

/// The first mapping that is `wanted`.
fn find(wanted: impl Fn(&Line) -> bool) -> Option<Range<u64>> {
    let file = open(c"/proc/self/maps", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut buffer = [0; 4096];
    let mut line = Line::EMPTY;
    loop {
        let length = rustix::io::retry_on_intr(|| rustix::io::read(&file, &mut buffer)).ok()?;
        if length == 0 {
            return None;
        }
        for byte in &buffer[..length] {
            if *byte != b'\n' {
                line.push(*byte);
            } else if wanted(&line) {
                return Some(line.range());
            } else {
                line = Line::EMPTY;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threads_stack_holds_its_variables_and_nobody_elses() {
        fn here() -> u64 {
            let variable = 0;
            (&raw const variable).expose_provenance() as u64
        }
        let other = here();
        let ours = std::thread::spawn(move || {
            let stack = stack_of_thread().expect("the kernel tells");
            assert!(stack.contains(&here()) && !stack.contains(&other), "{stack:x?}");
            stack
        });
        let theirs = std::thread::spawn(|| stack_of_thread().expect("the kernel tells"));
        let (ours, theirs) = (ours.join().expect("no panic"), theirs.join().expect("no panic"));
        assert!(!ours.is_empty() && !theirs.is_empty());
        let main = find(|line| line.ends_with(b"[stack]")).expect("every process has one");
        assert!(!main.contains(&ours.start));
    }
}
