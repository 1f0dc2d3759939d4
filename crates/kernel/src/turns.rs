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
    /// Work begins: the thread has slept until now.
    pub(crate) fn begin(&mut self) {
        if self.began.is_none() {
            take_short_turns();
        }
        self.began = Some(Instant::now());
    }

    /// To be called after each piece of work: lets those go first who wait for the core, where it is time.
    pub(crate) fn done(&mut self) {
        self.pieces = self.pieces.wrapping_add(1);
        if self.pieces.is_multiple_of(PIECES) {
            self.pause();
        }
    }

    /// The same between pieces that take longer. Answers whether it was time.
    pub(crate) fn pause(&mut self) -> bool {
        let is_time = self.began.is_some_and(|began| began.elapsed() >= WORK);
        if is_time {
            std::thread::yield_now();
            self.began = Some(Instant::now());
        }
        is_time
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

/// Has the kernel give the calling thread its share of a core in the shortest turns, where it can: since Linux 6.12, and where no
/// filter of system calls is in the way.
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
    fn a_thread_gives_way_after_some_work_and_not_after_sleep() {
        let mut turns = Turns::default();
        assert!(!turns.pause(), "it has not begun");
        turns.begin();
        let first = turns.began.expect("it has begun");
        std::thread::sleep(WORK);
        turns.begin();
        let began = turns.began.expect("it has begun");
        assert!(began - first >= WORK, "sleep is no work");
        while began.elapsed() < WORK {}
        assert!(turns.pause());
        assert!(turns.began.expect("it goes on") > began, "another turn");
    }
}
