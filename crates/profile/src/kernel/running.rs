//! How long threads had a core until a time: a clock for each thread that stands still while it does not run.

use super::gaps::Gaps;
use crate::clock::Clocks;
use crate::hash::Map;
use crate::names::Names;
use crate::record::{Call, Gap, Loss, LossKind, Record, Ticks};
use crate::record::{Did, ThreadState};

/// Times on a core that are kept; 2²² take 130 MB. The times of threads beyond are not counted.
const KEPT_MAX: usize = 1 << 22;

/// Such clocks in the making, from one reading of the kernel's file.
#[derive(Default)]
pub struct RunningTimes {
    names: Names,
    threads: Map<u32, Vec<ThreadState>>,
    gaps: Gaps,
    kept: usize,
    lost: u64,
}

/// The clocks of all threads.
#[derive(Debug)]
pub struct Running {
    threads: Map<u32, Vec<Turn>>,
    /// Facts that are missing: events that were lost, damaged parts, times beyond the bound.
    pub lost: u64,
}

/// One time on a core.
#[derive(Clone, Copy, Debug)]
struct Turn {
    from: u64,
    to: u64,
    /// How long the thread had run before, in nanoseconds.
    before: u64,
}

impl RunningTimes {
    /// Takes the next record of the kernel's file.
    pub fn add(&mut self, record: &Record) {
        self.names.add(record);
        match record {
            Record::State(state) if matches!(state.did, Did::Running { .. }) => {
                let Some(tid) = self.names.tid(state.thread) else { return };
                if self.kept >= KEPT_MAX {
                    self.lost += 1;
                    return;
                }
                self.kept += 1;
                self.threads.entry(tid).or_default().push(state.clone());
            }
            Record::Gap(Gap { start, end, .. }) => self.gaps.add(*start, *end),
            Record::Loss(Loss { kind: LossKind::Events, count, .. }) => {
                self.lost = self.lost.saturating_add(*count);
            }
            _ => {}
        }
    }

    /// Takes note of a damaged part.
    pub const fn damaged(&mut self) {
        self.lost += 1;
    }

    /// Concludes. Times in gaps of the file count as not on a core.
    #[must_use]
    pub fn finish(self) -> Running {
        let void = self.gaps.finish();
        let turns = |states: Vec<ThreadState>| {
            let mut before = 0;
            let known = void.lane(&states);
            let ran = known.within(0, u64::MAX).filter(|span| span.what.is_some());
            let turn = |span: crate::spans::Span<Option<usize>>| {
                let turn = Turn { from: span.from, to: span.to, before };
                before += span.to - span.from;
                turn
            };
            ran.map(turn).collect()
        };
        let threads = self.threads.into_iter().map(|(tid, states)| (tid, turns(states))).collect();
        Running { threads, lost: self.lost }
    }
}

impl Running {
    /// How long a thread had run until a time of `CLOCK_MONOTONIC_RAW`, in nanoseconds; of an unknown one zero.
    #[must_use]
    pub fn until(&self, tid: u32, raw_ns: u64) -> u64 {
        let Some(turns) = self.threads.get(&tid) else { return 0 };
        let next = turns.partition_point(|turn| turn.to <= raw_ns);
        match (turns.get(next), turns.last()) {
            (Some(turn), _) => turn.before + raw_ns.saturating_sub(turn.from),
            (None, Some(last)) => last.before + (last.to - last.from),
            (None, None) => 0,
        }
    }

    /// A call as its thread's clock has it, in ticks that last as long as those of `clocks`.
    pub(crate) fn of(&self, tid: Option<u32>, call: &Call, clocks: &Clocks) -> Call {
        let ns_per_tick = clocks.rate().ns_per_tick;
        let at = |ticks: Ticks| {
            let ran = tid.map_or(0, |tid| self.until(tid, clocks.raw_ns(ticks)));
            (ran as f64 / ns_per_tick).round() as Ticks
        };
        Call { start: at(call.start), end: at(call.end), start_slack: 0, end_slack: 0, ..*call }
    }
}
