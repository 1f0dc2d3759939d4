//! A smoothed mean of times.

use super::OUTLIER;
use crate::ewma;

/// Our choice: half of a step shows after 22 samples, and the noise of single samples falls to an eighth.
const GAIN: f64 = 1.0 / 32.0;

/// A mean, smoothed over 32 samples, as a number that loses nothing where they are a few nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mean {
    /// Nothing until there was a sample.
    ns: Option<f64>,
}

impl Mean {
    pub(super) fn learn(&mut self, sample_ns: u64) {
        let sample = sample_ns as f64;
        self.ns = Some(match self.ns {
            // Below a nanosecond a mean could not grow: eight times nothing is nothing.
            Some(mean) => ewma::after(mean, GAIN, sample.min(OUTLIER * mean.max(1.0))).max(0.0),
            None => sample,
        });
    }

    pub(super) const fn or(self, other: Self) -> Self {
        if self.ns.is_some() { self } else { other }
    }

    /// At least one once there was a sample, and zero before.
    pub(super) fn ns(self) -> u64 {
        self.ns.map_or(0, |mean| mean.max(1.0) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_counts_for_a_thirty_second() {
        let mut mean = Mean::default();
        mean.learn(3_200);
        mean.learn(6_400);
        assert_eq!(mean.ns(), 3_300);
    }
}
