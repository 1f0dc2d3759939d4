//! Either side of a comparison: the recordings of one build, read for the first time.

use crate::blocks::{BLOCKS, First};
use crate::functions::Report;
use crate::quality::Quality;
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
}

#[cfg(test)]
mod tests {
    use super::*;

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
