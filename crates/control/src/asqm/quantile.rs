//! A running quantile, and the buckets that durations are counted in.

use std::time::Duration;
use tailwater_core::Nanos;

/// A running quantile of durations: counts in buckets a sixteenth of an octave wide, halved now and
/// then so that the past fades. 2.4 KiB; up to 6 % high; longer than two minutes counts as that.
#[derive(Clone, Debug)]
pub struct Quantile {
    q: f64,
    counts: Vec<u32>,
    total: u32,
    until_update: u32,
    value_ns: Option<u64>,
}

/// Buckets of an octave, as a power of two.
const FINE_BITS: u32 = 4;
/// Buckets of an octave: each is a sixteenth wide, so a reading is at most 6 % high.
const FINE: u64 = 1 << FINE_BITS;
/// 137 s, which longer waits count as: far beyond what a request may wait for a lock.
const LARGEST_NS: u64 = (1 << 37) - 1;
/// All buckets, four bytes each.
pub(super) const BUCKETS: usize = bucket(LARGEST_NS) + 1;
/// The past weighs this many samples; some 160 of them lie beyond the 99th percentile.
const WEIGHT_MAX: u32 = 16_384;
/// A new reading after so many samples, and none before: fewer say nothing of a tail.
pub(super) const UPDATE_EVERY: u32 = 128;

impl Quantile {
    /// Follows the quantile `q`, within 0 and 1.
    #[must_use]
    pub fn new(q: f64) -> Self {
        let counts = vec![0; BUCKETS];
        Self { q, counts, total: 0, until_update: UPDATE_EVERY, value_ns: None }
    }

    /// Adds a sample.
    pub fn record(&mut self, sample: Duration) {
        self.counts[bucket(sample.nanos().min(LARGEST_NS))] += 1;
        self.total += 1;
        self.until_update -= 1;
        if self.until_update == 0 {
            self.until_update = UPDATE_EVERY;
            self.value_ns = Some(self.read());
            if self.total > WEIGHT_MAX {
                self.fade();
            }
        }
    }

    /// The latest reading; `None` before there are 128 samples.
    #[must_use]
    pub fn value(&self) -> Option<Duration> {
        self.value_ns.map(Duration::from_nanos)
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a u32 lies within it"
    )]
    fn read(&self) -> u64 {
        let rank = (f64::from(self.total) * self.q.clamp(0.0, 1.0)).ceil() as u32;
        largest_of(of_rank(&self.counts, rank.max(1)))
    }

    /// Rounds down, so that a sample that stays alone is forgotten with the next fading.
    fn fade(&mut self) {
        for count in &mut self.counts {
            *count /= 2;
        }
        self.total = self.counts.iter().sum();
    }
}

/// The bucket of the sample with this rank, counted from one at the shortest.
pub(super) fn of_rank(counts: &[u32], rank: u32) -> usize {
    let mut seen: u32 = 0;
    for (bucket, count) in counts.iter().enumerate() {
        seen += count;
        if seen >= rank {
            return bucket;
        }
    }
    BUCKETS - 1
}

/// Small values have a bucket each; above, the leading [`FINE_BITS`] + 1 bits decide.
#[expect(clippy::cast_possible_truncation, reason = "there are a few hundred buckets")]
pub(super) const fn bucket(ns: u64) -> usize {
    if ns < FINE {
        return ns as usize;
    }
    let shift = ns.ilog2() - FINE_BITS;
    ((shift as u64 + 1) * FINE + ((ns >> shift) - FINE)) as usize
}

/// The largest value that falls into the bucket.
pub(super) const fn largest_of(bucket: usize) -> u64 {
    let (octave, fine) = (bucket as u64 / FINE, bucket as u64 % FINE);
    if octave == 0 { fine } else { ((FINE + fine + 1) << (octave - 1)) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_core::Rng;

    #[test]
    fn buckets_are_in_order_and_at_most_a_sixteenth_wide() {
        let mut last = 0;
        for ns in (0..4_096).chain((12..37).flat_map(|bit| [(1 << bit) - 1, 1 << bit])) {
            let found = bucket(ns);
            assert!(found >= last, "{ns}");
            let top = largest_of(found);
            assert!(top >= ns && top <= ns + ns / 16, "{ns} in a bucket up to {top}");
            last = found;
        }
        assert_eq!(largest_of(BUCKETS - 1), LARGEST_NS);
    }

    #[test]
    fn a_sample_of_a_rank_is_counted_from_the_shortest_and_beyond_the_last_is_the_largest() {
        let found = [1, 2, 3, 4].map(|rank| of_rank(&[2, 0, 1], rank));
        assert_eq!(found, [0, 0, 2, BUCKETS - 1]);
    }

    #[test]
    fn a_quantile_follows_a_change_and_forgets() {
        let mut rng = Rng::from_seed(1);
        let mut p99 = Quantile::new(0.99);
        for mean_ns in [10_000.0, 40_000.0, 5_000.0] {
            for _ in 0..200_000 {
                p99.record(Duration::from_nanos(rng.exponential(mean_ns) as u64));
            }
            // ln 100 = 4.605 means.
            let of_true = p99.value().unwrap().nanos() as f64 / (4.605 * mean_ns);
            assert!((0.92..1.18).contains(&of_true), "{of_true} of the true quantile");
        }
    }

    /// 16,384 samples weigh in full; the next reading, 128 later, is the first that halves them.
    #[test]
    fn the_past_is_halved_once_it_weighs_more_than_its_bound() {
        let mut quantile = Quantile::new(0.5);
        (0..16_384).for_each(|_| quantile.record(Duration::from_micros(10)));
        assert_eq!(quantile.total, 16_384);
        (0..128).for_each(|_| quantile.record(Duration::from_micros(10)));
        assert_eq!((quantile.total, quantile.counts[bucket(10_000)]), (8_256, 8_256));
    }

    #[test]
    fn there_is_no_reading_before_128_samples() {
        let mut quantile = Quantile::new(0.5);
        (0..127).for_each(|_| quantile.record(Duration::from_nanos(9)));
        assert_eq!(quantile.value(), None);
        quantile.record(Duration::from_nanos(9));
        assert_eq!(quantile.value(), Some(Duration::from_nanos(9)), "small values are exact");
    }
}
