//! The distribution of durations that are only known to lie in intervals.

use super::interval::Interval;
use crate::record::Ticks;
use hdrhistogram::Histogram;

/// Two significant digits: a bucket is at most 1 % wide.
const DIGITS: u8 = 2;
/// Lower bounds beyond count as this many ticks, 26 h at 3 GHz; upper bounds beyond as none.
const LONGEST: u64 = 1 << 48;

/// Durations in ticks, each within its interval.
///
/// Two histograms: of the shortest and of the longest that each duration may have been. Whatever the
/// true durations are, their quantile lies between those of the two, since raising some values never
/// lowers a quantile. About 20 KB for durations up to 10 ms.
#[derive(Clone)]
pub(crate) struct BoundedDurations {
    low: Histogram<u32>,
    /// Of those that have an upper bound.
    high: Histogram<u32>,
    longest: Interval,
    total: Interval,
}

impl BoundedDurations {
    pub(crate) fn new() -> Self {
        let empty = Histogram::new(DIGITS).expect("two digits are within the library's range");
        Self { low: empty.clone(), high: empty, longest: Interval::NONE, total: Interval::NONE }
    }

    pub(crate) fn add(&mut self, duration: Interval) {
        let low = duration.low.min(LONGEST);
        let high = if duration.high > LONGEST { Ticks::MAX } else { duration.high };
        self.low.record(low).expect("the histogram grows");
        if high != Ticks::MAX {
            self.high.record(high).expect("the histogram grows");
        }
        self.sum_up(Interval { low, high }, Interval { low, high });
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.low.add(&other.low).expect("the histogram grows");
        self.high.add(&other.high).expect("the histogram grows");
        self.sum_up(other.longest, other.total);
    }

    fn sum_up(&mut self, longest: Interval, total: Interval) {
        self.longest.low = self.longest.low.max(longest.low);
        self.longest.high = self.longest.high.max(longest.high);
        self.total.add(total);
    }

    pub(crate) fn count(&self) -> u64 {
        self.low.len()
    }

    /// All durations together.
    pub(crate) const fn total(&self) -> Interval {
        self.total
    }

    /// The longest duration.
    pub(crate) const fn longest(&self) -> Interval {
        self.longest
    }

    /// What a duration must surely exceed to be above the quantile `q` of what all surely were: at most the share 1 − q do.
    pub(crate) fn below(&self, q: f64) -> Ticks {
        at(&self.low, rank(q, self.count())).unwrap_or(0)
    }

    /// The least and the greatest that the quantile `q` may truly have been.
    pub(crate) fn quantile(&self, q: f64) -> Interval {
        let rank = rank(q, self.count());
        let low = at(&self.low, rank).map_or(0, |value| self.low.lowest_equivalent(value));
        // Ranks beyond those with an upper bound are those without.
        let high = at(&self.high, rank).unwrap_or(self.longest.high);
        Interval { low, high: high.min(self.longest.high) }
    }
}

/// The number, in ascending order and from 1, of the smallest value that at least the share `q` of `count`
/// values does not exceed.
fn rank(q: f64, count: u64) -> u64 {
    let count = count as f64;
    (q * count - count * 1e-12).ceil().max(1.0) as u64
}

/// The value with this number, rounded up to its bucket's edge; `None` where there are fewer.
fn at(histogram: &Histogram<u32>, rank: u64) -> Option<u64> {
    // The library rounds share × count up, so half a rank less lands exactly on the rank.
    let share = (rank as f64 - 0.5) / histogram.len() as f64;
    (rank <= histogram.len()).then(|| histogram.value_at_quantile(share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A call in three has no upper bound.
        #[test]
        fn the_bounds_hold_the_quantile_of_whatever_the_truth_was(
            calls in prop::collection::vec((0u64..1 << 30, 0u64..1 << 16, 0.0f64..=1.0, 0u8..3), 1..200),
            q in 0.0f64..=1.0,
        ) {
            let mut spread = BoundedDurations::new();
            let mut truth = Vec::new();
            for &(low, width, share, bounded) in &calls {
                let high = if bounded == 0 { Ticks::MAX } else { low + width };
                spread.add(Interval { low, high });
                let reach = if bounded == 0 { 1 << 40 } else { width };
                truth.push(low + (reach as f64 * share) as u64);
            }
            truth.sort_unstable();
            let rank = ((q * calls.len() as f64).ceil() as usize).clamp(1, calls.len()) - 1;
            let found = spread.quantile(q);
            prop_assert!(found.low <= truth[rank] && truth[rank] <= found.high, "{:?}", found);
            let longest = spread.longest();
            let last = truth[calls.len() - 1];
            prop_assert!(longest.low <= last && last <= longest.high, "{:?}", longest);
            prop_assert!(spread.total().low <= truth.iter().sum());
            // No wider than buckets of 1 % make what the intervals themselves say.
            let mut lows: Vec<u64> = calls.iter().map(|call| call.0).collect();
            lows.sort_unstable();
            prop_assert!(found.low as f64 >= lows[rank] as f64 * 0.99 - 1.0);
        }
    }

    #[test]
    fn merging_is_recording_all_in_one() {
        let (mut all, mut one, mut other) =
            (BoundedDurations::new(), BoundedDurations::new(), BoundedDurations::new());
        for n in 0..1_000u64 {
            let high = if n == 500 { Ticks::MAX } else { n * n + n };
            let duration = Interval { low: n * n - n / 2, high };
            all.add(duration);
            if n % 3 == 0 { &mut one } else { &mut other }.add(duration);
        }
        one.merge(&other);
        for q in [0.0, 0.5, 0.99, 0.9999, 1.0] {
            assert_eq!(one.quantile(q), all.quantile(q));
        }
        assert_eq!((one.count(), one.total()), (1_000, all.total()));
        assert_eq!(one.longest(), Interval { low: 997_502, high: Ticks::MAX });
        assert_eq!(BoundedDurations::new().quantile(0.99), Interval { low: 0, high: 0 });
    }

    #[test]
    fn one_call_without_an_upper_bound_takes_it_from_the_last_rank_only() {
        let mut spread = BoundedDurations::new();
        (0..99).for_each(|_| spread.add(Interval { low: 100, high: 110 }));
        spread.add(Interval { low: 5, high: Ticks::MAX });
        assert_eq!(spread.quantile(0.99).high, 110);
        assert_eq!(spread.quantile(0.999).high, Ticks::MAX);
        assert_eq!(spread.quantile(0.999).low, 100);
    }

    #[test]
    fn endless_calls_have_the_longest_as_lower_bound_and_no_upper() {
        let mut spread = BoundedDurations::new();
        spread.add(Interval { low: u64::MAX, high: u64::MAX });
        spread.add(Interval { low: LONGEST + 1, high: LONGEST + 2 });
        let found = spread.quantile(0.5);
        assert!(found.low >= LONGEST / 100 * 99 && found.high == Ticks::MAX, "{found:?}");
        assert_eq!(spread.total().low, 2 * LONGEST);
    }
}
