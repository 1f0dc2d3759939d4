//! Where some time of some threads went, as the kernel tells it.

use serde::Serialize;

/// A time of a thread, in nanoseconds of `CLOCK_MONOTONIC_RAW`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Stretch {
    /// The kernel's number of the thread.
    pub tid: u32,
    /// From.
    pub from_ns: u64,
    /// To.
    pub to_ns: u64,
}

/// Where some time of some threads went. The times add up to `total_ns`; that of faults is a part of `running_ns`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Account {
    /// The time in question; of several threads the sum.
    pub total_ns: u64,
    /// On a core, less interrupts.
    pub running_ns: u64,
    /// On a core, which interrupts and softirqs had.
    pub interrupts_ns: u64,
    /// Waiting for a core.
    pub runnable_ns: u64,
    /// Asleep: waiting for a lock, a disk, the network, a time.
    pub asleep_ns: u64,
    /// Stopped by a signal or a debugger.
    pub stopped_ns: u64,
    /// The kernel's events are lost, or there are none.
    pub unknown_ns: u64,
    /// Page faults. No event tells how long one takes.
    pub faults: u64,
    /// About how much of `running_ns` they took: each as long as the first touch of a page when the recording began.
    pub faults_ns: u64,
    /// How often a thread went on on another core than it had been on before, within the time in question.
    pub moves: u64,
    /// What had the core while it was waited for, most time first, at most five.
    pub behind: Vec<Behind>,
    /// What ended sleeps, most time first, at most five.
    pub sleeps: Vec<Sleeps>,
    /// Interrupts and softirqs, most time first, at most five.
    pub interrupts: Vec<Interrupts>,
    /// What more than half of the time was.
    pub cause: Cause,
    /// The one thing behind more than half of `cause`: what had the core, what ended the sleeps, what interrupted. `null` where
    /// none was, and where it ran.
    pub named: Option<String>,
}

impl Account {
    /// How much of it was that.
    #[must_use]
    pub const fn of(&self, cause: Cause) -> u64 {
        match cause {
            Cause::Running => self.running_ns,
            Cause::Faults => self.faults_ns,
            Cause::Runnable => self.runnable_ns,
            Cause::Asleep => self.asleep_ns,
            Cause::Stopped => self.stopped_ns,
            Cause::Interrupts => self.interrupts_ns,
            Cause::Unknown => self.unknown_ns,
            Cause::Mixed => 0,
        }
    }
}

/// What had a core.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Behind {
    /// Of what kind it was.
    pub had_by: HadBy,
    /// The thread, or the threads of one name; `null` of the other kinds.
    pub thread: Option<String>,
    /// For how long. Of a wait that is in question in part, in proportion.
    pub ns: u64,
}

/// Of what kind that was which had a core while a thread waited for it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HadBy {
    /// Other threads.
    Thread,
    /// Nothing: it had to be woken first.
    Idle,
    /// Nothing, and yet the thread was not let run: it was so after the thread had been on a core, or for longer than a
    /// wake-up takes. Mostly a CPU quota (`cpu.max`).
    HeldBack,
    /// Threads that were too many to be told apart.
    Others,
}

/// Sleeps that things of one name ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Sleeps {
    /// What woke the thread: a thread, the threads of one name, `timer`, a softirq, an interrupt; `null` where that is not
    /// known.
    pub woken_by: Option<String>,
    /// Whether no signal could reach it: mostly for a disk or for memory.
    pub uninterruptible: bool,
    /// How often.
    pub sleeps: u64,
    /// How long.
    pub ns: u64,
    /// Where a thread of this trace woke it: its innermost function when it ended the longest of them, as for a lock of any
    /// kind the function that let it go. `null` where that is not known.
    pub function: Option<String>,
    /// The end of the longest that a thread ended: [`super::Wakers`] says in which function it was.
    #[serde(skip)]
    pub woken: Option<Woken>,
}

/// A thread ended a sleep.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Woken {
    /// The kernel's number of the thread that did so.
    pub tid: u32,
    /// When, in nanoseconds of `CLOCK_MONOTONIC_RAW`.
    pub at_ns: u64,
}

/// Interrupts of one kind.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Interrupts {
    /// Which.
    pub name: String,
    /// How often.
    pub count: u64,
    /// How long, without others within them.
    pub ns: u64,
}

/// What more than half of a time was.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// On a core.
    Running,
    /// In page faults, by estimate.
    Faults,
    /// Waiting for a core.
    Runnable,
    /// Asleep.
    Asleep,
    /// Stopped.
    Stopped,
    /// In interrupts.
    Interrupts,
    /// Not known.
    #[default]
    Unknown,
    /// Nothing was more than half of it.
    Mixed,
}
