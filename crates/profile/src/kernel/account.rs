//! Where given times of given threads went, as the kernel tells it.

use super::gaps::{Gaps, Void};
use super::tally::Tally;
use crate::hash::Map;
use crate::names::Names;
use crate::record::{Figure, Gap, Loss, LossKind, Measured, Record, ThreadId};
use crate::record::{Interruption, ThreadState};
use crate::spans::Lane;
use serde::Serialize;

/// States kept, and interruptions; 2²⁰ of either take 150 MB. What further ones would tell is unknown.
const KEPT_MAX: usize = 1 << 20;

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

/// What the kernel's file does not tell. Belongs beside every account.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Coverage {
    /// Events that were lost, came too late or could not be read.
    pub lost_events: u64,
    /// Damaged parts of the file.
    pub damaged_parts: u64,
    /// Facts that were left out for want of memory.
    pub left_out: u64,
    /// How often a CPU quota stopped the program's control groups while it was recorded (`nr_throttled` of `cpu.stat`);
    /// `null` where that could not be read.
    pub throttled: Option<u64>,
    /// How long the first touch of a page took when the recording began; `null` where that is not known.
    pub first_touch_ns: Option<u64>,
}

/// Accounts in the making, from one reading of the kernel's file.
pub struct Accounts {
    /// For each account, the times that are in it.
    wanted: Vec<Vec<Stretch>>,
    /// Of each thread: when something of it is wanted, by time, and joined.
    windows: Map<u32, Vec<(u64, u64)>>,
    pub(super) names: Names,
    threads: Map<u32, Kept>,
    gaps: Gaps,
    kept: usize,
    coverage: Coverage,
}

/// What is kept of a thread.
#[derive(Default)]
struct Kept {
    states: Vec<ThreadState>,
    interruptions: Vec<Interruption>,
}

/// The same, to be looked up by time.
pub(super) struct Known {
    pub(super) states: Vec<ThreadState>,
    pub(super) lane: Lane<Option<usize>>,
    /// By start.
    interruptions: Vec<Interruption>,
    /// Of each and all before it the last end: interruptions lie within one another.
    ends: Vec<u64>,
}

impl Known {
    fn new(Kept { states, mut interruptions }: Kept, void: &Void) -> Self {
        interruptions.sort_by_key(|one| one.start);
        let until = |until: &mut u64, one: &Interruption| {
            *until = one.end.max(*until);
            Some(*until)
        };
        let ends = interruptions.iter().scan(0, until).collect();
        Self { lane: void.lane(&states), states, interruptions, ends }
    }

    /// The interruptions that touch a time, with their places in the list.
    pub(super) fn interruptions(
        &self,
        from: u64,
        to: u64,
    ) -> impl Iterator<Item = (usize, &Interruption)> {
        let first = self.ends.partition_point(|end| *end < from);
        let all = self.interruptions.iter().enumerate().skip(first);
        all.take_while(move |(_, one)| one.start < to).filter(move |(_, one)| one.end >= from)
    }
}

impl Accounts {
    /// Begins; each list of `wanted` gives an account.
    #[must_use]
    pub fn new(wanted: Vec<Vec<Stretch>>) -> Self {
        let mut windows: Map<u32, Vec<(u64, u64)>> = Map::default();
        for stretch in wanted.iter().flatten() {
            windows.entry(stretch.tid).or_default().push((stretch.from_ns, stretch.to_ns));
        }
        for of_thread in windows.values_mut() {
            *of_thread = crate::spans::merged(std::mem::take(of_thread));
        }
        Self {
            wanted,
            windows,
            names: Names::default(),
            threads: Map::default(),
            gaps: Gaps::default(),
            kept: 0,
            coverage: Coverage::default(),
        }
    }

    /// Takes the next record of the kernel's file.
    pub fn add(&mut self, record: &Record) {
        self.names.add(record);
        match record {
            Record::State(state) => {
                if let Some(kept) = self.room(state.thread, state.start, state.end) {
                    kept.states.push(state.clone());
                }
            }
            Record::Interruption(one) => {
                // A point in time touches a window too.
                if let Some(kept) =
                    self.room(one.thread, one.start, one.end.max(one.start.saturating_add(1)))
                {
                    kept.interruptions.push(*one);
                }
            }
            Record::Gap(Gap { start, end, .. }) => self.gaps.add(*start, *end),
            Record::Loss(Loss { kind: LossKind::Events, count, .. }) => {
                self.coverage.lost_events = self.coverage.lost_events.saturating_add(*count);
            }
            Record::Figure(Figure { what: Measured::Throttlings, value }) => {
                self.coverage.throttled = Some(*value);
            }
            Record::Figure(Figure { what: Measured::FirstTouchNs, value }) => {
                self.coverage.first_touch_ns = Some(*value);
            }
            _ => {}
        }
    }

    /// Takes note of a damaged part.
    pub const fn damaged(&mut self) {
        self.coverage.damaged_parts += 1;
    }

    /// What the records so far do not tell.
    #[must_use]
    pub const fn coverage(&self) -> Coverage {
        self.coverage
    }

    /// Concludes: an account for each list of times.
    #[must_use]
    pub fn finish(mut self) -> Vec<Account> {
        let void = std::mem::take(&mut self.gaps).finish();
        let threads: Map<u32, Known> =
            self.threads.into_iter().map(|(tid, kept)| (tid, Known::new(kept, &void))).collect();
        let account = |stretches: &Vec<Stretch>| {
            let mut tally = Tally::default();
            for stretch in stretches {
                tally.add(stretch, threads.get(&stretch.tid), &self.names);
            }
            tally.conclude(self.coverage.first_touch_ns.unwrap_or(0), &self.names)
        };
        self.wanted.iter().map(account).collect()
    }

    /// Where to keep what a thread did in this time, if that is wanted and there is room.
    fn room(&mut self, thread: ThreadId, from: u64, to: u64) -> Option<&mut Kept> {
        let tid = self.names.tid(thread)?;
        let windows = self.windows.get(&tid)?;
        let next = windows.partition_point(|window| window.1 <= from);
        windows.get(next).filter(|window| window.0 < to)?;
        if self.kept >= KEPT_MAX {
            self.coverage.left_out += 1;
            return None;
        }
        self.kept += 1;
        Some(self.threads.entry(tid).or_default())
    }
}
