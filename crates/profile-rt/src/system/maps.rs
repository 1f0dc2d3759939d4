//! Where the kernel says that memory is mapped. Neither allocates nor waits, and takes little of the stack that
//! it runs on, which may be small.

use crate::system::shim;
use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Resource, getpid, getrlimit};
use rustix::thread::gettid;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd as _};

/// As deep as the main thread's stack is taken to grow where nothing limits it.
const MAIN_MAX: u64 = 128 << 20;

/// Addresses that only the calling thread's own stack can have. `None`: that cannot be had.
pub(crate) fn stack_of_thread() -> Option<Range<u64>> {
    if gettid() == getpid() {
        let mapped = mapping_of(shim::main_stack())?;
        let grows = getrlimit(Resource::Stack).current.unwrap_or(MAIN_MAX);
        return Some(mapped.end.saturating_sub(grows).min(mapped.start)..mapped.end);
    }
    // The C library keeps what it knows of a thread at the end of its stack.
    let end = shim::thread_pointer();
    Some(mapping_of(end)?.start..end)
}

/// Whether two addresses lie in one mapping; so they do where that cannot be had.
pub(crate) fn is_one(address: u64, other: u64) -> bool {
    mapping_of(address).is_none_or(|mapped| mapped.contains(&other))
}

fn mapping_of(address: u64) -> Option<Range<u64>> {
    let file = open(c"/proc/self/maps", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    shim::ask_for_mapping(file.as_raw_fd(), address).or_else(|| look_for_mapping(&file, address))
}

/// For kernels before 6.11: all mappings, of which there may be thousands, from the lowest up.
fn look_for_mapping(file: impl AsFd, address: u64) -> Option<Range<u64>> {
    let mut buffer = [0; 512];
    let (mut bounds, mut field) = ([0; 2], 0);
    loop {
        let length = rustix::io::retry_on_intr(|| rustix::io::read(&file, &mut buffer)).ok()?;
        if length == 0 {
            return None;
        }
        // Lines of `low-high perms offset dev inode path`.
        for byte in &buffer[..length] {
            if *byte == b'\n' {
                (bounds, field) = ([0; 2], 0);
                continue;
            }
            let Some(bound) = bounds.get_mut(field) else { continue };
            match char::from(*byte).to_digit(16) {
                Some(digit) => *bound = *bound << 4 | u64::from(digit),
                None => field += 1,
            }
            if field == bounds.len() && (bounds[0]..bounds[1]).contains(&address) {
                return Some(bounds[0]..bounds[1]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here() -> u64 {
        let variable = 0;
        (&raw const variable).expose_provenance() as u64
    }

    #[test]
    fn a_threads_stack_holds_its_variables_and_nobody_elses() {
        let other = here();
        let stack = move || {
            let stack = stack_of_thread().expect("the kernel tells");
            assert!(stack.contains(&here()) && !stack.contains(&other), "{stack:x?}");
            assert!(!stack.contains(&shim::main_stack()), "{stack:x?}");
        };
        std::thread::spawn(stack).join().expect("no panic");
    }

    #[test]
    fn asking_and_looking_find_the_same() {
        let maps = || std::fs::File::open("/proc/self/maps").expect("it is there");
        for address in [here(), shim::main_stack(), shim::thread_pointer()] {
            let found = look_for_mapping(maps(), address).expect("it is mapped");
            assert!(found.contains(&address), "{found:x?}");
            let told = shim::ask_for_mapping(maps().as_raw_fd(), address);
            assert!(told.is_none_or(|told| told == found), "not {found:x?}");
        }
        assert_eq!(look_for_mapping(maps(), 1), None);
        assert_eq!(shim::ask_for_mapping(maps().as_raw_fd(), 1), None);
    }
}
