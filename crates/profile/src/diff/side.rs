//! Either side of a comparison: the recordings of one build, read for the first time.

use crate::blocks::{BLOCKS, First};
use crate::functions::Report;
use crate::quality::{FileEnd, Quality};
use tailwater_stats::shift::SAMPLE_MAX;

/// Blocks that must have a quantile, on either side; more where the corrected confidence asks for more.
pub const UNITS_MIN: usize = 8;

/// Recordings of one build.
#[derive(Clone, Debug)]
pub struct Side {
    /// At least one; see [`can_be_compared`].
    pub recordings: Vec<Recording>,
}

/// A trace that was read for the first time.
#[derive(Clone, Debug)]
pub struct Recording {
    /// What the second reading needs.
    pub first: First,
    /// What the trace does not tell.
    pub quality: Quality,
    /// Records read.
    pub records: u64,
}

/// Whether so many recordings of before and of after are comparable. That is one of each, or enough of each to be the units
/// themselves: from [`UNITS_MIN`] to [`SAMPLE_MAX`].
#[must_use]
pub fn can_be_compared(counts: [usize; 2]) -> bool {
    counts == [1, 1] || counts.iter().all(|count| (UNITS_MIN..=SAMPLE_MAX).contains(count))
}

impl Side {
    /// Parts into which the second reading cuts each recording: a recording is a block, or its parts are where there is
    /// one alone.
    #[must_use]
    pub fn parts(&self) -> usize {
        if self.recordings.len() == 1 { BLOCKS } else { 1 }
    }

    /// How many recordings were made without a scanner.
    #[must_use]
    pub fn unscanned(&self) -> usize {
        self.recordings.iter().filter(|one| one.quality.unscanned).count()
    }

    /// Numbers of the recordings that are not whole. Where scanners looked at others alone, those without one are among them:
    /// their functions are not the same.
    #[must_use]
    pub fn flawed(&self) -> Vec<usize> {
        let is_mixed = (1..self.recordings.len()).contains(&self.unscanned());
        let is_told = |one: &Recording| one.is_flawed() || (is_mixed && one.quality.unscanned);
        let all = self.recordings.iter().enumerate();
        all.filter(|(_, one)| is_told(one)).map(|(at, _)| at).collect()
    }

    /// Within what time 99.9 % of looks came, in the middle of all recordings: one whose scanner was late does not make the
    /// calls of all too short.
    pub(super) fn resolution_ns(&self) -> u64 {
        let mut all: Vec<u64> =
            self.recordings.iter().map(|one| one.quality.look_p999_ns).collect();
        all.sort_unstable();
        all.get(all.len() / 2).copied().unwrap_or(0)
    }

    /// Calls and names beyond the bounds of a reading.
    pub(super) fn unread(&self) -> u64 {
        let unread = self.recordings.iter().map(|one| one.quality.beyond_bounds);
        unread.fold(0, u64::saturating_add)
    }
}

impl Recording {
    /// Of the trace with this report. What else the report says is not kept: recordings may be many.
    #[must_use]
    pub fn of(report: Report) -> Self {
        let first = First::of(&report);
        Self { first, quality: report.quality, records: report.records }
    }

    /// Whether it lacks what recordings need not lack.
    fn is_flawed(&self) -> bool {
        let quality = &self.quality;
        quality.ending != FileEnd::Finished
            || quality.kept.is_some()
            || [quality.damages, quality.beyond_bounds, quality.mixed_stacks, quality.lost_threads]
                .iter()
                .any(|count| *count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::TickRate;
    use crate::quality::KeptPart;

    /// A whole recording, but for this.
    fn recording(change: impl Fn(&mut Quality)) -> Recording {
        let rate = TickRate { ns_per_tick: 1.0, measured: true };
        let first = First { rate, length_ns: 1, functions: Vec::new() };
        let mut one = Recording { first, quality: Quality::default(), records: 1 };
        one.quality.ending = FileEnd::Finished;
        change(&mut one.quality);
        one
    }

    #[test]
    fn a_recording_that_is_not_whole_is_flawed_and_so_is_one_without_a_scanner_beside_others() {
        let whole = || recording(|_| {});
        let unscanned = || recording(|quality| quality.unscanned = true);
        let lacking: [fn(&mut Quality); 6] = [
            |quality| quality.ending = FileEnd::Unfinished,
            |quality| quality.kept = Some(KeptPart::default()),
            |quality| quality.damages = 1,
            |quality| quality.beyond_bounds = 1,
            |quality| quality.mixed_stacks = 1,
            |quality| quality.lost_threads = 1,
        ];
        for (number, lacking) in lacking.into_iter().enumerate() {
            let side = Side { recordings: vec![whole(), recording(lacking), whole()] };
            assert_eq!((side.flawed(), side.unscanned()), (vec![1], 0), "{number}");
        }
        let mixed = Side { recordings: vec![unscanned(), whole(), unscanned()] };
        assert_eq!((mixed.flawed(), mixed.unscanned()), (vec![0, 2], 2));
        let none = Side { recordings: vec![unscanned(), unscanned()] };
        assert_eq!((none.flawed(), none.unscanned()), (vec![], 2));
    }

    #[test]
    fn one_trace_of_each_is_enough_and_so_are_many_of_both() {
        for counts in [[1, 1], [8, 8], [8, 40], [20, 20]] {
            assert!(can_be_compared(counts), "{counts:?}");
        }
        for counts in [[1, 20], [7, 8], [2, 2], [8, 41]] {
            assert!(!can_be_compared(counts), "{counts:?}");
        }
    }
}
