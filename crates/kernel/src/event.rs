//! What the kernel told, as values.

use std::fmt;

/// One event of one processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// `CLOCK_MONOTONIC_RAW`, in nanoseconds.
    pub at_ns: u64,
    /// The processor.
    pub cpu: u32,
    /// The thread that had the processor; 0 is the idle thread. Of a switch the one that left.
    pub tid: u32,
    /// What happened.
    pub what: What,
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// The processor went from one thread to another (`sched_switch`).
    Switch {
        /// What the thread that left is called.
        previous_name: Name,
        /// How it left.
        left: Left,
        /// The thread that came.
        next: u32,
        /// What it is called.
        next_name: Name,
    },
    /// A thread is about to be woken (`sched_waking`): told where the waker runs.
    Waking {
        /// The thread.
        tid: u32,
        /// The processor that it last ran on.
        cpu: u32,
        /// In what the waker was.
        context: Context,
    },
    /// A thread is in a run queue (`sched_wakeup`, `sched_wakeup_new`): told where it is put there.
    Wakeup {
        /// The thread.
        tid: u32,
        /// The processor in whose queue it is.
        cpu: u32,
        /// It has just been made, by the thread that has the processor.
        is_new: bool,
    },
    /// A thread goes to the queue of another processor (`sched_migrate_task`).
    Migrate {
        /// The thread.
        tid: u32,
        /// The processor.
        cpu: u32,
    },
    /// A thread or process is made (`sched_process_fork`) by the thread that has the processor.
    Fork {
        /// The new one.
        child: u32,
    },
    /// A thread has a new name (`task_rename`): its own wish, or it begins another program.
    Rename {
        /// The thread.
        tid: u32,
        /// What it is called now.
        name: Name,
    },
    /// A device's interrupt begins (`irq_handler_entry`).
    InterruptEntry {
        /// Its line.
        line: u32,
    },
    /// It ends (`irq_handler_exit`).
    InterruptExit,
    /// A softirq begins (`softirq_entry`).
    SoftirqEntry {
        /// Its vector: 1 timer, 2 and 3 network out and in, 4 block devices, 7 scheduler, 9 RCU.
        vector: u32,
    },
    /// It ends (`softirq_exit`).
    SoftirqExit,
    /// An interrupt of the processor's own begins (`irq_vectors`).
    LocalEntry(LocalInterrupt),
    /// It ends.
    LocalExit(LocalInterrupt),
    /// A thread touched memory that was not there (`page_fault_user`).
    Fault {
        /// What it touched.
        address: u64,
    },
    /// TCP sent a segment again (`tcp_retransmit_skb`).
    Retransmission,
    /// From here to the processor's next event some of its events are lost.
    Blind,
    /// The same; moreover an event came too late, so what was said of the time since then may be wrong.
    Late {
        /// When that event was, in nanoseconds.
        since_ns: u64,
    },
}

/// How a thread left its processor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Left {
    /// It could have gone on, and is in the run queue.
    Runnable,
    /// Asleep until something wakes it, or a signal comes.
    Asleep,
    /// Asleep where no signal reaches it: mostly for a disk or for memory.
    Uninterruptible,
    /// Stopped by a signal or a debugger.
    Stopped,
    /// It has ended.
    Ended,
}

/// In what a waker was. An interrupt is not the thread that it interrupted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Context {
    /// The thread that had the processor.
    Thread,
    /// A softirq.
    Softirq,
    /// An interrupt.
    Interrupt,
    /// What is open on its processor; the thread where nothing is.
    Innermost,
    /// What is open on its processor; not known where nothing is, as not all that may be open is told.
    Unknown,
}

/// An interrupt of the processor's own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LocalInterrupt {
    /// Its timer.
    Timer,
    /// Another processor wants it to look for threads to run.
    Reschedule,
    /// Another processor wants a function called.
    Call,
}

/// What a thread is called: up to 15 bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Name([u8; 16]);

impl Name {
    /// The bytes up to the first zero, at most 15.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        let mut name = [0; 16];
        let len = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len()).min(15);
        name[..len].copy_from_slice(&bytes[..len]);
        Self(name)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let len = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        f.write_str(&String::from_utf8_lossy(&self.0[..len]))
    }
}

impl Left {
    /// From `prev_state` of `sched_switch`, as kernels since 4.14 tell it (`include/linux/sched.h`, `TASK_REPORT`). The bit
    /// above the reported ones says that the thread was preempted.
    pub(crate) const fn of_state(state: i64) -> Self {
        const PREEMPTED: i64 = 0x100;
        match state & 0xff {
            _ if state & PREEMPTED != 0 => Self::Runnable,
            0 => Self::Runnable,
            0x02 => Self::Uninterruptible,
            0x04 | 0x08 => Self::Stopped,
            0x10 | 0x20 => Self::Ended,
            _ => Self::Asleep,
        }
    }
}

impl Left {
    /// From the letters that tools print for it (`TASK_STATE_TO_CHAR_STR`); `R+` was preempted.
    pub(crate) fn of_letters(letters: &str) -> Self {
        match letters.as_bytes().first() {
            Some(b'R') | None => Self::Runnable,
            Some(b'D') => Self::Uninterruptible,
            Some(b'T' | b't') => Self::Stopped,
            Some(b'X' | b'Z') => Self::Ended,
            Some(_) => Self::Asleep,
        }
    }
}

impl Context {
    /// From `common_flags` (`include/linux/trace_events.h`).
    pub(crate) const fn of_flags(flags: u32) -> Self {
        const HARDIRQ: u32 = 0x08;
        const SOFTIRQ: u32 = 0x10;
        const NMI: u32 = 0x40;
        if flags & (HARDIRQ | NMI) != 0 {
            Self::Interrupt
        } else if flags & SOFTIRQ != 0 {
            Self::Softirq
        } else {
            Self::Thread
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_at_the_zero() {
        assert_eq!(Name::new(b"redis\0rest").to_string(), "redis");
        assert_eq!(Name::new(b"0123456789abcdefgh").to_string(), "0123456789abcde");
    }

    #[test]
    fn states_and_contexts_are_told_apart() {
        let states = [0, 0x100, 0x101, 1, 2, 4, 8, 0x10, 0x20, 0x80].map(Left::of_state);
        use Left::{Asleep, Ended, Runnable, Stopped, Uninterruptible};
        let expected = [
            Runnable,
            Runnable,
            Runnable,
            Asleep,
            Uninterruptible,
            Stopped,
            Stopped,
            Ended,
            Ended,
            Asleep,
        ];
        assert_eq!(states, expected);
        let letters = ["R", "R+", "S", "D", "T", "t", "X", "Z", "I"].map(Left::of_letters);
        let expected =
            [Runnable, Runnable, Asleep, Uninterruptible, Stopped, Stopped, Ended, Ended, Asleep];
        assert_eq!(letters, expected);
        let contexts = [0, 0x01, 0x10, 0x18, 0x40].map(Context::of_flags);
        use Context::{Interrupt, Softirq, Thread};
        assert_eq!(contexts, [Thread, Thread, Softirq, Interrupt, Interrupt]);
    }
}
