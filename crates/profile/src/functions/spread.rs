//! The distribution of durations that are only known to lie in intervals.

use hdrhistogram::Histogram;

/// Two significant digits: a bucket is at most 1 % wide.
const DIGITS: u8 = 2;
/// Longer durations count as this many ticks: 26 h at 3 GHz.
const LONGEST: u64 = 1 << 48;

/// Durations in ticks, each `length ± slack`.
///
/// Three histograms: of the shortest, the middle and the longest that each duration may have been.
/// Whatever the true durations are, their quantile lies between those of the outer two, since
/// raising some values never lowers a quantile. About 30 KB for durations up to 10 ms.
#[derive(Clone)]
pub(super) struct Spread {
    low: Histogram<u32>,
    middle: Histogram<u32>,
    high: Histogram<u32>,
    longest: (u64, u64),
    total: u64,
}

impl Spread {
    pub(super) fn new() -> Self {
        let empty = Histogram::new(DIGITS).expect("two digits are within the library's range");
        Self { low: empty.clone(), middle: empty.clone(), high: empty, longest: (0, 0), total: 0 }
    }

    pub(super) fn add(&mut self, length: u64, slack: u64) {
        let length = length.min(LONGEST);
        for (histogram, value) in [
            (&mut self.low, length.saturating_sub(slack)),
            (&mut self.middle, length),
            (&mut self.high, length.saturating_add(slack)),
        ] {
            histogram.record(value.min(LONGEST)).expect("the histogram grows");
        }
        self.longest = self.longest.max((length, slack));
        self.total = self.total.saturating_add(length);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (own, other) in [
            (&mut self.low, &other.low),
            (&mut self.middle, &other.middle),
            (&mut self.high, &other.high),
        ] {
            own.add(other).expect("the histogram grows");
        }
        self.longest = self.longest.max(other.longest);
        self.total = self.total.saturating_add(other.total);
    }

    pub(super) fn count(&self) -> u64 {
        self.middle.len()
    }

    pub(super) const fn total(&self) -> u64 {
        self.total
    }

    /// The longest and its slack.
    pub(super) const fn longest(&self) -> (u64, u64) {
        self.longest
    }

    /// The quantile `q`, and the least and the greatest that it may truly have been.
    pub(super) fn quantile(&self, q: f64) -> (u64, u64, u64) {
        let middle = at(&self.middle, q).min(self.longest.0);
        let low = self.low.lowest_equivalent(at(&self.low, q)).min(middle);
        (middle, low, at(&self.high, q).max(middle))
    }
}

/// The smallest value that at least the share `q` does not exceed, rounded up to its bucket's edge.
fn at(histogram: &Histogram<u32>, q: f64) -> u64 {
    let count = histogram.len() as f64;
    if count == 0.0 {
        return 0;
    }
    let rank = (q * count - count * 1e-12).ceil().max(1.0);
    // The library rounds share × count up, so half a rank less lands exactly on the rank.
    histogram.value_at_quantile((rank - 0.5) / count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_bounds_hold_the_quantile_of_whatever_the_truth_was(
            calls in prop::collection::vec((0u64..1 << 30, 0u64..1 << 16, -1.0f64..=1.0), 1..200),
            q in 0.0f64..=1.0,
        ) {
            let mut spread = Spread::new();
            for &(length, slack, _) in &calls {
                spread.add(length, slack);
            }
            let rank = ((q * calls.len() as f64).ceil() as usize).clamp(1, calls.len()) - 1;
            let mut truth: Vec<u64> = calls
                .iter()
                .map(|&(length, slack, error)| {
                    length.saturating_add_signed((slack as f64 * error) as i64)
                })
                .collect();
            truth.sort_unstable();
            let (middle, low, high) = spread.quantile(q);
            prop_assert!(low <= truth[rank] && truth[rank] <= high);
            let mut lengths: Vec<u64> = calls.iter().map(|call| call.0).collect();
            lengths.sort_unstable();
            prop_assert!(middle >= lengths[rank]);
            prop_assert!(middle as f64 <= lengths[rank] as f64 * 1.01 + 1.0);
            prop_assert_eq!(spread.longest().0, lengths[lengths.len() - 1]);
            prop_assert_eq!(spread.total(), lengths.iter().sum::<u64>());
        }
    }

    #[test]
    fn merging_is_recording_all_in_one() {
        let (mut all, mut one, mut other) = (Spread::new(), Spread::new(), Spread::new());
        for n in 0..1_000u64 {
            all.add(n * n, n);
            if n % 3 == 0 { &mut one } else { &mut other }.add(n * n, n);
        }
        one.merge(&other);
        for q in [0.0, 0.5, 0.99, 0.9999, 1.0] {
            assert_eq!(one.quantile(q), all.quantile(q));
        }
        assert_eq!((one.count(), one.longest()), (1_000, (998_001, 999)));
        assert_eq!(Spread::new().quantile(0.99), (0, 0, 0));
    }

    #[test]
    fn endless_calls_count_as_the_longest() {
        let mut spread = Spread::new();
        spread.add(u64::MAX, u64::MAX);
        spread.add(u64::MAX, 1);
        assert!(spread.quantile(0.5).0 >= LONGEST);
        assert_eq!(spread.total(), 2 * LONGEST);
    }
}
