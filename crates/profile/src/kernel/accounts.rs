//! Accounts in the making: what the kernel's file tells of given times of given threads is kept, and added up.

use super::account::{Account, Stretch};
use super::gaps::Gaps;
use super::known::{Kept, Known};
use super::tally::Tally;
use crate::hash::Map;
use crate::names::Names;
use crate::record::{Figure, Gap, Loss, LossKind, Measured, Record, ThreadId};
use serde::Serialize;

/// States kept, and interruptions; 2²⁰ of either take 150 MB. What further ones would tell is unknown.
const KEPT_MAX: usize = 1 << 20;

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
        let threads = self.known();
        let account = |stretches: &Vec<Stretch>| {
            let mut tally = Tally::default();
            for stretch in stretches {
                tally.add(stretch, threads.get(&stretch.tid), &self.names);
            }
            tally.conclude(self.coverage.first_touch_ns.unwrap_or(0), &self.names)
        };
        self.wanted.iter().map(account).collect()
    }

    /// Concludes with the lists of times, what is known of each thread in them, and how many states found no room.
    pub(super) fn into_known(mut self) -> (Vec<Vec<Stretch>>, Map<u32, Known>, u64) {
        let known = self.known();
        (self.wanted, known, self.coverage.left_out)
    }

    fn known(&mut self) -> Map<u32, Known> {
        let void = std::mem::take(&mut self.gaps).finish();
        let threads = std::mem::take(&mut self.threads);
        threads.into_iter().map(|(tid, kept)| (tid, Known::new(kept, &void))).collect()
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
