//! What is said of threads.

use super::behind::Behind;
use crate::event::{LocalInterrupt, Name};

/// One thing that is known of a followed thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fact {
    /// What the thread did in a span of time. Those of one thread come in order and leave no hole.
    Interval(Interval),
    /// What took its core from it for a moment, while it counted as running.
    Interruption(Interruption),
    /// An event came too late: whatever else is said of this time, of any thread, may be wrong.
    Void {
        /// From, in nanoseconds of the events' clock.
        from_ns: u64,
        /// To.
        to_ns: u64,
    },
}

/// What a thread did from one time to another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interval {
    /// The kernel's number of the thread.
    pub tid: u32,
    /// What it is called; empty while that is not known.
    pub name: Name,
    /// From, in nanoseconds of the events' clock.
    pub from_ns: u64,
    /// To.
    pub to_ns: u64,
    /// What.
    pub state: State,
}

/// What a thread did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum State {
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
        behind: Behind,
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

/// What woke a thread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Waker {
    /// Another thread.
    Thread {
        /// Its number.
        tid: u32,
        /// What it is called; empty where that is not known.
        name: Name,
    },
    /// The end of a time that was set.
    Timer,
    /// A softirq, by its vector.
    Softirq(u32),
    /// A device's interrupt, by its line where known.
    Interrupt(Option<u32>),
    /// Not known, or not yet.
    Unknown,
}

/// What took a core from a thread for a moment. One may lie within another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interruption {
    /// The thread that had the core.
    pub tid: u32,
    /// From, in nanoseconds of the events' clock.
    pub from_ns: u64,
    /// To. Of a page fault, whose end no tracepoint tells, the same.
    pub to_ns: u64,
    /// What.
    pub by: Interrupting,
}

/// Of what kind it was.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Interrupting {
    /// A device's interrupt, by its line.
    Device(u32),
    /// A softirq, by its vector.
    Softirq(u32),
    /// One of the processor's own.
    Local(LocalInterrupt),
    /// The thread touched memory that was not there, at this address.
    Fault(u64),
}
