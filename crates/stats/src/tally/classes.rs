//! What became of one class, second by second of the measured window.

use crate::result::ClassReading;
use std::time::Duration;
use tailwater_core::Nanos;

/// Requests of one class.
#[derive(Clone, Debug, Default)]
pub(super) struct Seconds {
    /// Intended, and answered in time, by second of the window.
    counts: Vec<(u64, u64)>,
}

impl Seconds {
    pub(super) fn asked(&mut self, offset: Duration) {
        self.at(offset).0 += 1;
    }

    pub(super) fn in_time(&mut self, offset: Duration) {
        self.at(offset).1 += 1;
    }

    pub(super) fn merge(&mut self, other: &Self) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), (0, 0));
        }
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine = (mine.0 + theirs.0, mine.1 + theirs.1);
        }
    }

    /// Of a window so long. A part of a second at its end does not count as one, unless it is all there is.
    pub(super) fn reading(&self, window: Duration) -> ClassReading {
        let (asked, in_time) =
            self.counts.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let whole = usize::try_from(window.as_secs()).unwrap_or(usize::MAX).max(1);
        let shares = self.counts.iter().take(whole).filter(|(asked, _)| *asked > 0);
        let per_second = 1e9 / window.nanos().max(1) as f64;
        ClassReading {
            class: String::new(),
            offered_rps: asked as f64 * per_second,
            goodput_rps: in_time as f64 * per_second,
            share: share(&(asked, in_time)),
            least_share: shares.map(share).fold(1.0, f64::min),
        }
    }

    /// A window of hours has some thousand seconds.
    fn at(&mut self, offset: Duration) -> &mut (u64, u64) {
        let second = usize::try_from(offset.as_secs()).unwrap_or(usize::MAX);
        if self.counts.len() <= second {
            self.counts.resize(second + 1, (0, 0));
        }
        &mut self.counts[second]
    }
}

fn share(&(asked, in_time): &(u64, u64)) -> f64 {
    if asked > 0 { in_time as f64 / asked as f64 } else { 0.0 }
}
