//! Where given times of given threads went, as the kernel tells it.

use super::state::{Interruption, ThreadState};
use super::tally::Tally;
use crate::hash::Map;
use crate::names::Names;
use crate::record::{Gap, Record, ThreadId};
use crate::requests::{Lane, Span};
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

/// Where some time of some threads went. All but `faults` is time, and adds up to `total_ns`.
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
    /// The kernel's events are lost, or there are none.
    pub unknown_ns: u64,
    /// Page faults: how often, since nothing tells how long.
    pub faults: u64,
    /// What had the core while it was waited for, most time first, at most five.
    pub behind: Vec<Behind>,
    /// What ended sleeps, most time first, at most five.
    pub sleeps: Vec<Sleeps>,
    /// Interrupts and softirqs, most time first, at most five.
    pub interrupts: Vec<Interrupts>,
    /// What most of the time was.
    pub cause: Cause,
}

/// What had a core.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Behind {
    /// The thread, or the threads of one name; `null`: the core had nothing to do and had to be woken, or there were too
    /// many to be told apart.
    pub thread: Option<String>,
    /// Whether the core had nothing to do.
    pub idle: bool,
    /// For how long. Of a wait that is in question in part, in proportion.
    pub ns: u64,
}

/// Sleeps that one thing ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Sleeps {
    /// What woke the thread: a thread, `timer`, a softirq, an interrupt; `null` where that is not known.
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

/// What most of a time was.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// On a core.
    Running,
    /// Waiting for a core.
    Runnable,
    /// Asleep.
    Asleep,
    /// In interrupts.
    Interrupts,
    /// Not known.
    #[default]
    Unknown,
}

/// Accounts in the making, from one reading of the kernel's file.
pub struct Accounts {
    /// For each account, the times that are in it.
    wanted: Vec<Vec<Stretch>>,
    /// Of each thread: when something of it is wanted, by time, and joined.
    windows: Map<u32, Vec<(u64, u64)>>,
    pub(super) names: Names,
    threads: Map<u32, Kept>,
    gaps: Vec<Span<()>>,
    kept: usize,
    left_out: u64,
}

/// What is kept of a thread.
#[derive(Default)]
pub(super) struct Kept {
    pub(super) states: Vec<ThreadState>,
    pub(super) interruptions: Vec<Interruption>,
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
            *of_thread = crate::requests::merged(std::mem::take(of_thread));
        }
        Self {
            wanted,
            windows,
            names: Names::default(),
            threads: Map::default(),
            gaps: Vec::new(),
            kept: 0,
            left_out: 0,
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
                if let Some(kept) = self.room(one.thread, one.start, one.end.max(one.start + 1)) {
                    kept.interruptions.push(*one);
                }
            }
            Record::Gap(Gap { start, end, .. }) if self.kept < KEPT_MAX => {
                self.kept += 1;
                self.gaps.push(Span { from: *start, to: *end, what: () });
            }
            _ => {}
        }
    }

    /// Records that were left out for want of room: what they would tell is unknown.
    #[must_use]
    pub const fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Concludes: an account for each list of times.
    #[must_use]
    pub fn finish(self) -> Vec<Account> {
        let lanes: Map<u32, Lane<Option<usize>>> =
            self.threads.iter().map(|(tid, kept)| (*tid, self.lane(kept))).collect();
        let account = |stretches: &Vec<Stretch>| {
            let mut tally = Tally::default();
            for stretch in stretches {
                let of = self.threads.get(&stretch.tid).zip(lanes.get(&stretch.tid));
                tally.add(stretch, of, &self.names);
            }
            tally.conclude(&self.names)
        };
        self.wanted.iter().map(account).collect()
    }

    /// A thread's states by time; what lies in a gap is none of them.
    fn lane(&self, kept: &Kept) -> Lane<Option<usize>> {
        let states = kept.states.iter().enumerate();
        let states =
            states.map(|(nth, one)| Span { from: one.start, to: one.end, what: Some(nth) });
        let gaps = self.gaps.iter().map(|gap| Span { from: gap.from, to: gap.to, what: None });
        let spans: Vec<_> = states.chain(gaps).collect();
        Lane::new(&spans, |span| u64::from(span.what.is_none()))
    }

    /// Where to keep what a thread did in this time, if that is wanted and there is room.
    fn room(&mut self, thread: ThreadId, from: u64, to: u64) -> Option<&mut Kept> {
        let tid = self.names.tid(thread)?;
        let windows = self.windows.get(&tid)?;
        let next = windows.partition_point(|window| window.1 <= from);
        windows.get(next).filter(|window| window.0 < to)?;
        if self.kept >= KEPT_MAX {
            self.left_out += 1;
            return None;
        }
        self.kept += 1;
        Some(self.threads.entry(tid).or_default())
    }
}
