//! A histogram of waits that many threads write to without a lock: eight bins per doubling.

use std::sync::atomic::{AtomicU64, Ordering};

const BITS: u32 = 3;
/// Up to 2⁴⁰ ns, 18 minutes; longer waits are counted in the last bin.
const BINS: usize = (41 - BITS as usize) << BITS;

pub(super) struct Hist {
    bins: [AtomicU64; BINS],
    total_ns: AtomicU64,
    max_ns: AtomicU64,
}

/// A copy, in which numbers may be some waits apart if others wrote meanwhile.
pub(super) struct Waits {
    pub(super) count: u64,
    pub(super) total_ns: u64,
    pub(super) max_ns: u64,
    bins: Vec<u64>,
}

impl Hist {
    pub(super) const fn new() -> Self {
        Self {
            bins: [const { AtomicU64::new(0) }; BINS],
            total_ns: AtomicU64::new(0),
            max_ns: AtomicU64::new(0),
        }
    }

    pub(super) fn record(&self, waited_ns: u64) {
        // Relaxed: each is read for itself, for display; a reader may see one of the three before the others.
        self.bins[bin_of(waited_ns)].fetch_add(1, Ordering::Relaxed);
        self.total_ns.fetch_add(waited_ns, Ordering::Relaxed);
        self.max_ns.fetch_max(waited_ns, Ordering::Relaxed);
    }

    /// Of all waits together.
    pub(super) fn total_ns(&self) -> u64 {
        // Relaxed: as it is recorded.
        self.total_ns.load(Ordering::Relaxed)
    }

    pub(super) fn read(&self) -> Waits {
        // Relaxed: as it is recorded.
        let bins: Vec<u64> = self.bins.iter().map(|bin| bin.load(Ordering::Relaxed)).collect();
        Waits {
            count: bins.iter().sum(),
            total_ns: self.total_ns(),
            // Relaxed: as it is recorded; so it may be of a wait that no bin has yet.
            max_ns: self.max_ns.load(Ordering::Relaxed),
            bins,
        }
    }
}

impl Waits {
    /// The end of the bin below which so many percent lie, but no more than the longest; zero where
    /// nobody waited.
    pub(super) fn quantile_ns(&self, percent: u64) -> u64 {
        let rank = (self.count * percent).div_ceil(100);
        let mut below = 0;
        let bin = self.bins.iter().position(|count| {
            below += count;
            below >= rank && rank > 0
        });
        bin.map_or(0, |bin| end_of(bin).min(self.max_ns))
    }
}

/// Below 8 a bin for each number, then the three bits after the highest.
fn bin_of(ns: u64) -> usize {
    let octave = ns.max(1).ilog2().saturating_sub(BITS);
    let bin = (u64::from(octave) << BITS) + (ns >> octave);
    usize::try_from(bin).map_or(BINS - 1, |bin| bin.min(BINS - 1))
}

/// The last number of a bin.
fn end_of(bin: usize) -> u64 {
    let octave = (bin >> BITS).saturating_sub(1);
    let lead = bin - (octave << BITS);
    (((lead as u64) + 1) << octave) - 1
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn bins_are_narrow_and_in_order() {
        for bin in 0..BINS - 1 {
            let end = end_of(bin);
            assert_eq!((bin_of(end), bin_of(end + 1)), (bin, bin + 1), "bin {bin} ends at {end}");
            let width = end - bin.checked_sub(1).map_or(0, end_of);
            assert!(width <= 1 + end / 8, "bin {bin} is {width} wide at {end}");
        }
        assert_eq!(bin_of(u64::MAX), BINS - 1);
    }

    #[test]
    fn quantiles_are_those_of_the_sorted_list() {
        let hist = Hist::new();
        assert_eq!(hist.read().quantile_ns(99), 0);
        (1..=1_000).for_each(|ns| hist.record(ns * 1_000));
        let waits = hist.read();
        assert_eq!((waits.count, waits.max_ns, waits.total_ns), (1_000, 1_000_000, 500_500_000));
        for (percent, exact) in [(50, 500_000), (99, 990_000)] {
            let found = waits.quantile_ns(percent);
            assert!((exact..=exact + exact / 8).contains(&found), "{percent} %: {found}");
        }
        assert_eq!(waits.quantile_ns(100), 1_000_000);
    }
}
