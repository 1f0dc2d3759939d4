//! A histogram of durations.
//!
//! Histograms are merged, percentiles never averaged: the mean of two 99th percentiles is the 99th
//! percentile of nothing.

use std::collections::BTreeMap;
use std::time::Duration;
use tailwater_core::Nanos;

/// The longest duration told apart, 60 s; anything above is recorded as this.
pub const LONGEST: Duration = Duration::from_secs(60);

/// Counts of durations, in whole nanoseconds up to [`LONGEST`], saturating above.
///
/// Values are reported as the upper edge of the bucket they fell in: never too small, and too large
/// by at most one part in a thousand ([`Histogram::new`]) or in a hundred ([`Histogram::coarse`]).
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: hdrhistogram::Histogram<u64>,
}

impl Histogram {
    /// Three significant digits. Takes all its memory (220 KB) at once, so recording never
    /// allocates.
    #[must_use]
    pub fn new() -> Self {
        Self::within(LONGEST, 3)
    }

    /// Two significant digits. Grows with the longest value, from 2 to 30 KB: for series, which
    /// need one for each bin.
    #[must_use]
    pub fn coarse() -> Self {
        let mut coarse = Self::within(Duration::from_nanos(2), 2);
        coarse.counts.auto(true);
        coarse
    }

    fn within(longest: Duration, digits: u8) -> Self {
        let counts = hdrhistogram::Histogram::new_with_bounds(1, longest.nanos(), digits)
            .expect("bounds and digits are constants within the library's range");
        Self { counts }
    }

    /// Counts one duration.
    pub fn record(&mut self, duration: Duration) {
        self.counts
            .record(duration.nanos().min(LONGEST.nanos()))
            .expect("the value is below the bound, or the histogram grows");
    }

    /// Adds the counts of `other`, as if each of its durations had been recorded here.
    pub fn merge(&mut self, other: &Self) {
        self.counts.add(&other.counts).expect("both hold values up to the same bound or grow");
    }

    /// How many durations were recorded.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.len()
    }

    /// How many durations have which value in nanoseconds, each the upper edge of its bucket. [`Histogram::of_counts`] makes
    /// the same of it.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<u64, u64> {
        let recorded = self.counts.iter_recorded();
        let most = LONGEST.nanos();
        recorded.map(|it| (it.value_iterated_to().min(most), it.count_at_value())).collect()
    }

    /// Of three significant digits.
    #[must_use]
    pub fn of_counts(counts: &BTreeMap<u64, u64>) -> Self {
        let mut made = Self::new();
        for (&nanos, &count) in counts {
            let value = nanos.min(LONGEST.nanos());
            made.counts.record_n(value, count).expect("the value is below the bound");
        }
        made
    }

    /// The mean; zero when nothing was recorded.
    #[must_use]
    pub fn mean(&self) -> Duration {
        Duration::from_nanos(self.counts.mean() as u64)
    }

    /// The smallest duration that at least the share `q` (0 to 1) of all do not exceed; zero when
    /// nothing was recorded.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Duration {
        let count = self.count() as f64;
        // Without the small allowance 0.07 × 100 would round up to rank 8.
        self.ranked((q.clamp(0.0, 1.0) * count - count * 1e-12).ceil().max(1.0) as u64)
    }

    /// The `rank`-th smallest, counted from 1; zero when nothing was recorded.
    fn ranked(&self, rank: u64) -> Duration {
        if self.count() == 0 {
            return Duration::ZERO;
        }
        // The library rounds share × count up, so half a rank less lands exactly on `rank`.
        let share = (rank as f64 - 0.5) / self.count() as f64;
        Duration::from_nanos(self.counts.value_at_quantile(share)).min(LONGEST)
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_core::Rng;

    fn of(nanos: impl IntoIterator<Item = u64>) -> Histogram {
        let mut hist = Histogram::new();
        nanos.into_iter().for_each(|n| hist.record(Duration::from_nanos(n)));
        hist
    }

    #[test]
    fn quantiles_of_small_values_are_exact() {
        let hundred = of(1..=100);
        for (q, nanos) in [(0.0, 1), (0.07, 7), (0.5, 50), (0.99, 99), (0.991, 100), (1.0, 100)] {
            assert_eq!(hundred.quantile(q), Duration::from_nanos(nanos), "quantile {q}");
        }
        assert_eq!(of([]).quantile(0.99), Duration::ZERO);
        assert_eq!(of([0]).quantile(0.5), Duration::ZERO);
    }

    #[test]
    fn quantiles_agree_with_sorting_to_the_stated_digits() {
        let mut rng = Rng::from_seed(4);
        let mut values: Vec<u64> = (0..20_001).map(|_| rng.exponential(1e6) as u64).collect();
        let (mut fine, mut coarse) = (Histogram::new(), Histogram::coarse());
        for &value in &values {
            fine.record(Duration::from_nanos(value));
            coarse.record(Duration::from_nanos(value));
        }
        values.sort_unstable();
        for q in [0.001, 0.5, 0.9, 0.99, 0.999] {
            let naive = values[(q * 20_001.0_f64).ceil() as usize - 1] as f64;
            for (hist, digits) in [(&fine, 1e-3), (&coarse, 1e-2)] {
                let found = hist.quantile(q).nanos() as f64;
                assert!(found >= naive && found <= naive * (1.0 + digits), "{q}: {found} {naive}");
            }
        }
    }

    #[test]
    fn long_values_saturate_in_both_precisions() {
        for mut hist in [Histogram::new(), Histogram::coarse()] {
            hist.record(Duration::MAX);
            assert_eq!(hist.quantile(1.0), LONGEST);
            assert_eq!(hist.count(), 1);
        }
    }

    #[test]
    fn counts_make_the_same_histogram() {
        let mut rng = Rng::from_seed(9);
        let values = (0..5_000).map(|_| rng.exponential(1e7) as u64);
        let found = of(values.chain([0, 1, LONGEST.nanos(), u64::MAX]));
        let made = Histogram::of_counts(&found.counts());
        assert_eq!((made.counts(), made.count()), (found.counts(), found.count()));
        for q in [0.0, 0.001, 0.5, 0.99, 0.999, 1.0] {
            assert_eq!(made.quantile(q), found.quantile(q), "quantile {q}");
        }
    }

    #[test]
    fn merging_equals_recording_all_in_one() {
        let mut low = of(1..=50);
        low.merge(&of(51..=100));
        assert_eq!(low.counts, of(1..=100).counts);
        let mut coarse = Histogram::coarse();
        coarse.merge(&of([5_000_000_000]));
        assert_eq!(coarse.count(), 1);
        assert!(coarse.quantile(0.5) >= Duration::from_secs(5));
    }
}
