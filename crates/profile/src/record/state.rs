//! Records of what the kernel did with threads.

use super::{ThreadId, Ticks};

/// Occupants told of one wait for a core.
pub const OCCUPANTS_MAX: usize = 8;

/// What a thread did from one time to another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadState {
    /// Which thread.
    pub thread: ThreadId,
    /// From.
    pub start: Ticks,
    /// To.
    pub end: Ticks,
    /// What.
    pub did: Did,
}

/// What a thread did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Did {
    /// It had a core.
    Running {
        /// Which.
        cpu: u32,
    },
    /// It could have run and waited for a core.
    Runnable {
        /// In whose queue it was last.
        cpu: u32,
        /// How it came to wait.
        after: After,
        /// What had the core meanwhile.
        behind: WaitedBehind,
    },
    /// It slept.
    Asleep {
        /// Where no signal reaches it: mostly for a disk or for memory.
        is_uninterruptible: bool,
        /// What ended it.
        woken: Waker,
    },
    /// A signal or a debugger had stopped it.
    Stopped {
        /// What let it go on.
        woken: Waker,
    },
    /// Events are lost that would say.
    Unknown,
}

impl ThreadState {
    /// All that it names: the thread itself, those that had the core meanwhile, and the one that woke it.
    pub(crate) fn threads(&self) -> impl Iterator<Item = ThreadId> {
        let (occupants, woken): (&[Occupant], _) = match &self.did {
            Did::Runnable { behind, .. } => (&behind.occupants, None),
            Did::Asleep { woken, .. } | Did::Stopped { woken } => (&[], Some(*woken)),
            Did::Running { .. } | Did::Unknown => (&[], None),
        };
        let waker = woken.and_then(|woken| match woken {
            Waker::Thread(thread) => Some(thread),
            _ => None,
        });
        let occupants = occupants.iter().map(|occupant| occupant.thread);
        std::iter::once(self.thread).chain(occupants).chain(waker)
    }
}

/// How a thread came to wait for a core.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum After {
    /// It was woken.
    Woken,
    /// Another took its core.
    Preempted,
    /// It was made.
    Made,
}

/// What had a core while a thread waited for it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WaitedBehind {
    /// Other threads, most time first, at most [`OCCUPANTS_MAX`].
    pub occupants: Vec<Occupant>,
    /// Time of further ones.
    pub others: Ticks,
    /// Time in which the core had nothing to do: it had to be woken, or a CPU quota held the thread back.
    pub idle: Ticks,
}

/// A thread that had the core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Occupant {
    /// Which.
    pub thread: ThreadId,
    /// For how long.
    pub time: Ticks,
}

/// What woke a thread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Waker {
    /// Not known, or nothing yet.
    Unknown,
    /// Another thread.
    Thread(ThreadId),
    /// The end of a time that was set.
    Timer,
    /// A softirq, by its vector.
    Softirq(u32),
    /// A device's interrupt, by its line where known.
    Interrupt(Option<u32>),
}

/// What took a core from a thread for a moment, while it counted as running. One may lie within another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interruption {
    /// The thread that had the core.
    pub thread: ThreadId,
    /// From.
    pub start: Ticks,
    /// To; of a page fault the same.
    pub end: Ticks,
    /// What.
    pub by: Interrupting,
}

/// Of what kind an interruption was.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Interrupting {
    /// A device's interrupt, by its line.
    Device(u32),
    /// A softirq, by its vector.
    Softirq(u32),
    /// The processor's timer.
    Timer,
    /// Another processor wanted it to look for threads to run.
    Reschedule,
    /// Another processor wanted a function called.
    Call,
    /// The thread touched memory that was not there, at this address. How long that took no tracepoint tells.
    Fault(u64),
}

impl Interrupting {
    /// What it is called.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Device(line) => format!("interrupt {line}"),
            Self::Softirq(vector) => format!("softirq {}", softirq(vector)),
            Self::Timer => "timer interrupt".into(),
            Self::Reschedule => "reschedule interrupt".into(),
            Self::Call => "function call interrupt".into(),
            Self::Fault(_) => "page fault".into(),
        }
    }
}

/// The kernel's names (`include/linux/interrupt.h`).
pub(crate) fn softirq(vector: u32) -> String {
    const NAMES: [&str; 10] = [
        "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER",
        "RCU",
    ];
    NAMES.get(vector as usize).map_or_else(|| vector.to_string(), |name| (*name).to_owned())
}
