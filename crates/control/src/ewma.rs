//! Exponentially weighted means: each sample moves a mean by the same share of the difference, its gain.

/// The smoothing of a round trip, and of the times that are added to one: the gain of TCP (RFC 6298, §2).
pub(crate) const ROUND_TRIP: Ewma = Ewma::one_in(8);

/// The mean of whole numbers with a gain of one in so many.
///
/// Holds no mean: some of them lie in atomics. A mean is rounded down, so that it does not follow a sample
/// that is above it by less than the denominator of the gain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ewma {
    denominator: u64,
}

impl Ewma {
    pub(crate) const fn one_in(denominator: u64) -> Self {
        Self { denominator }
    }

    /// The mean after a sample.
    pub(crate) const fn after(self, mean: u64, sample: u64) -> u64 {
        // Saturates only beyond some years in nanoseconds.
        mean.saturating_mul(self.denominator - 1).saturating_add(sample) / self.denominator
    }

    /// The same where a mean of zero stands for none: the first sample is taken as it is.
    pub(crate) const fn after_any(self, mean: u64, sample: u64) -> u64 {
        if mean == 0 { sample } else { self.after(mean, sample) }
    }
}

/// The same for real numbers, with a gain from 0 to 1.
pub(crate) fn after(mean: f64, gain: f64, sample: f64) -> f64 {
    mean + gain * (sample - mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_moves_the_mean_by_the_gain() {
        assert_eq!(Ewma::one_in(8).after(100, 180), 110);
        assert_eq!(Ewma::one_in(32).after(100, 420), 110);
        assert_eq!(Ewma::one_in(8).after(180, 100), 170);
        assert!((after(100.0, 0.125, 180.0) - 110.0).abs() < 1e-9);
    }

    #[test]
    fn a_round_trip_has_the_gain_of_tcp() {
        assert_eq!(ROUND_TRIP, Ewma::one_in(8));
    }

    #[test]
    fn the_first_sample_is_taken_as_it_is_where_zero_is_no_mean() {
        let mean = Ewma::one_in(8);
        assert_eq!((mean.after_any(0, 80), mean.after(0, 80)), (80, 10));
        assert_eq!(mean.after_any(80, 0), 70);
    }

    #[test]
    fn the_longest_time_does_not_wrap() {
        // Eight times this is 0 where it wraps; of the longest of all it would be the same as where it saturates.
        let long = 1_u64 << 63;
        assert_eq!(Ewma::one_in(8).after(long, long), u64::MAX / 8);
    }
}
