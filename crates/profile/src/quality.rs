//! How much of what happened the trace tells: losses, gaps, damage.

use crate::clock::TickRate;
use crate::record::{Figure, LossKind, Measured, Record, Ticks};
use crate::trace::{Ending, TraceError};
use serde::Serialize;
use std::collections::BTreeMap;

/// Damaged parts that are described; all are counted.
const DAMAGES_MAX: usize = 20;

/// What the trace does not tell. Belongs beside every number taken from it.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Quality {
    /// Invocations that ended before they were looked at: an upper bound.
    pub lost_calls: u64,
    /// Waits that found their ring full.
    pub lost_waits: u64,
    /// Marks that found their ring full.
    pub lost_marks: u64,
    /// Calls of clocked functions that found their ring full, or were too deep within each other.
    pub lost_clocked: u64,
    /// Frames beyond a shadow stack's end.
    pub overflowed_frames: u64,
    /// Threads that were not watched at all.
    pub lost_threads: u64,
    /// Looks that found the frames of several machine stacks on one shadow stack: fibers that nobody
    /// announced. What is said of their calls may be wrong.
    pub mixed_stacks: u64,
    /// Children of `fork`: a trace tells of one process.
    pub children: u64,
    /// Events of the kernel that found their ring full.
    pub lost_events: u64,
    /// No scanner looked: of calls, those of functions that time themselves are told alone.
    pub unscanned: bool,
    /// Times at which the scanner did not look.
    pub gaps: u64,
    /// How long these were together; gaps of several threads add up.
    pub gap_ns: u64,
    /// Looks at a thread that found out all its frames.
    pub looks: u64,
    /// From one such look to the next at the same thread, on average.
    pub look_ns: f64,
    /// Upper bound of the 99.9th percentile of that time.
    pub look_p999_ns: u64,
    /// From what a thread did to the first look that finds it, at most: bounds of scanned calls allow for it. `null`: they do not,
    /// in traces of before, or no scanner looked.
    pub seen_late_ns: Option<u64>,
    /// Damaged parts of the file.
    pub damages: u64,
    /// Bytes passed over in them.
    pub damaged_bytes: u64,
    /// Records known to have been in them.
    pub damaged_records: u64,
    /// The first twenty in words.
    pub damage: Vec<String>,
    /// How the file ended.
    pub ending: FileEnd,
    /// Names, threads or functions beyond the reader's bounds.
    pub beyond_bounds: u64,
    /// Of which requests the trace tells, where it was recorded or cut down with retention; `null`: of all.
    pub kept: Option<KeptPart>,
    #[serde(skip)]
    gap_ticks: u64,
    /// By the ticks within which they came: how many, and ticks in all.
    #[serde(skip)]
    looks_within: BTreeMap<u32, (u64, u64)>,
    #[serde(skip)]
    seen_late: Option<Ticks>,
}

/// Which requests a trace has kept, and how long all of them took.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct KeptPart {
    /// Requests in all.
    pub requests: u64,
    /// All that took at least so long are in the trace.
    pub above_ns: u64,
    /// Of these, requests of which something came too late to be kept, or that were given up while open.
    pub incomplete: u64,
    /// The median of all requests.
    pub p50_ns: u64,
    /// One in a hundred of all is longer.
    pub p99_ns: u64,
    /// One in a thousand.
    pub p999_ns: u64,
    /// One in ten thousand.
    pub p9999_ns: u64,
}

/// How the file ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileEnd {
    /// As a recorder that ends itself leaves it.
    Finished,
    /// Between two blocks.
    Unfinished,
    /// Within a block.
    #[default]
    Cut,
}

impl Quality {
    /// Counts gaps, losses and looks, and takes note of what was kept; other records change nothing.
    pub fn add(&mut self, record: &Record) {
        match record {
            Record::Gap(gap) => {
                self.gaps += 1;
                let length = gap.end.saturating_sub(gap.start);
                self.gap_ticks = self.gap_ticks.saturating_add(length);
            }
            Record::Loss(loss) => {
                let sum = match loss.kind {
                    LossKind::Calls => &mut self.lost_calls,
                    LossKind::Waits => &mut self.lost_waits,
                    LossKind::Marks => &mut self.lost_marks,
                    LossKind::Overflow => &mut self.overflowed_frames,
                    LossKind::Threads => &mut self.lost_threads,
                    LossKind::Mixed => &mut self.mixed_stacks,
                    LossKind::Children => &mut self.children,
                    LossKind::Events => &mut self.lost_events,
                    LossKind::Clocked => &mut self.lost_clocked,
                };
                *sum = sum.saturating_add(loss.count);
            }
            Record::Looks(looks) => {
                let (count, ticks) = self.looks_within.entry(looks.within).or_default();
                *count = count.saturating_add(looks.count);
                *ticks = ticks.saturating_add(looks.ticks);
            }
            Record::Figure(figure) => self.figure(*figure),
            _ => {}
        }
    }

    fn figure(&mut self, Figure { what, value }: Figure) {
        let mut kept = self.kept.unwrap_or_default();
        *match what {
            Measured::Unscanned => return self.unscanned = value != 0,
            Measured::SeenLateTicks => return self.seen_late = self.seen_late.max(Some(value)),
            // Of the files beside it.
            Measured::Throttlings
            | Measured::FirstTouchNs
            | Measured::OutsideKernel
            | Measured::SampledEveryNs => return,
            // Of locks.
            Measured::HoldTicks => return,
            Measured::Requests => &mut kept.requests,
            Measured::RequestsAboveNs => &mut kept.above_ns,
            Measured::RequestsIncomplete => &mut kept.incomplete,
            Measured::RequestsP50Ns => &mut kept.p50_ns,
            Measured::RequestsP99Ns => &mut kept.p99_ns,
            Measured::RequestsP999Ns => &mut kept.p999_ns,
            Measured::RequestsP9999Ns => &mut kept.p9999_ns,
        } = value;
        self.kept = Some(kept);
    }

    /// Counts a damaged part.
    pub fn damaged(&mut self, error: &TraceError) {
        self.damages += 1;
        self.damaged_bytes += error.skipped;
        self.damaged_records += error.records;
        if self.damage.len() < DAMAGES_MAX {
            self.damage.push(error.to_string());
        }
    }

    /// Concludes.
    pub fn end(&mut self, ending: &Ending, rate: TickRate) {
        self.ending = match ending {
            Ending::Finished(_) => FileEnd::Finished,
            Ending::Unfinished => FileEnd::Unfinished,
            Ending::Cut => FileEnd::Cut,
        };
        self.gap_ns = rate.ns(self.gap_ticks);
        let sum = |of: fn(&(u64, u64)) -> u64| {
            self.looks_within.values().map(of).fold(0, u64::saturating_add)
        };
        let (looks, ticks) = (sum(|(count, _)| *count), sum(|(_, ticks)| *ticks));
        self.looks = looks;
        self.look_ns = ticks as f64 * rate.ns_per_tick / looks.max(1) as f64;
        let mut left = looks / 1000;
        let longest = self.looks_within.iter().rev().find(|(_, (count, _))| {
            let found = left < *count;
            left = left.saturating_sub(*count);
            found
        });
        self.look_p999_ns = longest.map_or(0, |(within, _)| rate.ns(u64::from(*within)));
        self.seen_late_ns = self.seen_late.map(|ticks| rate.ns(ticks));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_seen_late_is_that_of_the_latest_scanner_and_unknown_where_none_told() {
        let rate = TickRate { ns_per_tick: 0.5, measured: true };
        let found = |told: &[u64]| {
            let mut quality = Quality::default();
            for value in told {
                let figure = Figure { what: Measured::SeenLateTicks, value: *value };
                quality.add(&Record::Figure(figure));
            }
            quality.end(&Ending::Unfinished, rate);
            assert_eq!(quality.kept, None, "nothing was cut down");
            quality.seen_late_ns
        };
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[500]), Some(250));
        assert_eq!(found(&[500, 700, 600]), Some(350));
    }
}
