//! Short turns on a core: what reads many events is no neighbour that others wait for.
//!
//! Rule: the kernel writes and reads a structure of this thread's stack, whose size it is told.

use std::time::{Duration, Instant};

/// The shortest turn that the kernel grants (`kernel/sched/syscalls.c`). With its own of some milliseconds, a thread that gives way
/// stays away for as long.
const TURN_NS: u64 = 100_000;
/// A thread of the program that is recorded waits for so long at most, as a rule.
const WORK: Duration = Duration::from_micros(50);
/// Pieces of work of some hundred nanoseconds between two readings of the clock.
const PIECES: u32 = 16;

/// What a thread did since it last gave way.
#[derive(Default)]
pub(crate) struct Turns {
    began: Option<Instant>,
    pieces: u32,
}

impl Turns {
    /// To be called after each piece of work: lets those go first who wait for the core, where it is time.
    pub(crate) fn done(&mut self) {
        self.pieces += 1;
        if !self.pieces.is_multiple_of(PIECES) {
            return;
        }
        let now = Instant::now();
        let began = *self.began.get_or_insert_with(|| {
            take_short_turns();
            now
        });
        if now - began >= WORK {
            std::thread::yield_now();
            self.began = Some(Instant::now());
        }
    }
}

/// `struct sched_attr` of `include/uapi/linux/sched/types.h`, in its first version.
#[repr(C)]
#[derive(Default)]
struct Scheduling {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    /// Of policies that share cores, the length of a turn since Linux 6.12.
    runtime_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
}

/// Has the kernel give the calling thread its share of a core in the shortest turns, where it can.
fn take_short_turns() {
    const SIZE: u32 = size_of::<Scheduling>() as u32;
    let mut its = Scheduling { size: SIZE, ..Scheduling::default() };
    // SAFETY: by the rule above. Number 0 is the calling thread.
    let read = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut its, SIZE, 0) };
    let shares = [libc::SCHED_OTHER, libc::SCHED_BATCH].map(i32::cast_unsigned);
    if read != 0 || !shares.contains(&its.policy) {
        return;
    }
    its.runtime_ns = TURN_NS;
    // SAFETY: as above. Where the kernel refuses, turns stay as long as they were.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const its, 0) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_short_where_the_kernel_has_it() {
        take_short_turns();
        let mut its = Scheduling::default();
        let size = size_of::<Scheduling>();
        // SAFETY: by the rule above.
        let read = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut its, size, 0) };
        assert_eq!((read, size), (0, 48));
        // Before Linux 6.12 there is no such setting, and it reads as nothing.
        assert!([0, TURN_NS].contains(&its.runtime_ns), "{}", its.runtime_ns);
    }

    #[test]
    fn a_thread_gives_way_after_some_work() {
        let mut turns = Turns::default();
        for _ in 0..PIECES {
            turns.done();
        }
        let began = turns.began.expect("a turn");
        while began.elapsed() < WORK {}
        for _ in 0..PIECES {
            turns.done();
        }
        assert!(turns.began.expect("another") > began);
    }
}
