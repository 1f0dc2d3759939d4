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

    /// 1 ms after 3.2 µs counts as eight times of it: a stall is no property of a class.
    #[test]
    fn an_outlier_counts_as_eight_times_the_mean() {
        let mut mean = Mean::default();
        mean.learn(3_200);
        mean.learn(1_000_000);
        assert_eq!(mean.ns(), 3_900);
    }

    #[test]
    fn nothing_learnt_stands_back_for_what_was() {
        let (none, mut some) = (Mean::default(), Mean::default());
        some.learn(70);
        assert_eq!([none.ns(), none.or(some).ns(), some.or(none).ns()], [0, 70, 70]);
        let mut other = Mean::default();
        other.learn(0);
        assert_eq!([other.ns(), other.or(some).ns()], [1, 1], "a sample of nothing is one");
    }
}
