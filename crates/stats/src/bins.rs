//! Equal bins of time, each with its counts and latencies: what series and overlays are made of.

use crate::hist::Histogram;
use std::time::Duration;
use tailwater_core::Nanos;

/// The most bins that are kept; asking for more widens them. Bounds memory at about 100 MB while
/// latencies and reject delays stay below a millisecond.
pub(crate) const BINS_MAX: u64 = 4096;

/// What fell in one bin.
#[derive(Clone, Debug)]
pub(crate) struct Bin {
    pub(crate) intended: u64,
    pub(crate) ok: u64,
    pub(crate) latency: Histogram,
    pub(crate) reject: Histogram,
}

/// Equal bins over a span that starts at zero; the last may be shorter.
#[derive(Clone, Debug)]
pub(crate) struct Bins {
    width_ns: u64,
    span_ns: u64,
    bins: Vec<Bin>,
}

impl Bins {
    /// Bins of `width` over `span`, or of the smallest width that needs no more than [`BINS_MAX`].
    pub(crate) fn new(width: Duration, span: Duration) -> Self {
        let span_ns = span.nanos().max(1);
        let width_ns = width.nanos().max(span_ns.div_ceil(BINS_MAX));
        let empty =
            Bin { intended: 0, ok: 0, latency: Histogram::coarse(), reject: Histogram::coarse() };
        Self { width_ns, span_ns, bins: vec![empty; span_ns.div_ceil(width_ns) as usize] }
    }

    /// The bin that holds `offset`; `None` beyond the span.
    pub(crate) fn at(&mut self, offset: Duration) -> Option<&mut Bin> {
        let offset_ns = offset.nanos();
        (offset_ns < self.span_ns).then(|| &mut self.bins[(offset_ns / self.width_ns) as usize])
    }

    /// Adds the counts of `other`, which must have the same bins.
    pub(crate) fn merge(&mut self, other: &Self) {
        assert_eq!((self.width_ns, self.span_ns), (other.width_ns, other.span_ns), "other bins");
        for (mine, theirs) in self.bins.iter_mut().zip(&other.bins) {
            mine.intended += theirs.intended;
            mine.ok += theirs.ok;
            mine.latency.merge(&theirs.latency);
            mine.reject.merge(&theirs.reject);
        }
    }

    /// Width of a bin.
    pub(crate) fn width(&self) -> Duration {
        Duration::from_nanos(self.width_ns)
    }

    /// `count` of every bin per second of that bin.
    pub(crate) fn rates(&self, count: impl Fn(&Bin) -> u64) -> Vec<f64> {
        let rate = |(index, bin): (usize, &Bin)| {
            let begin_ns = index as u64 * self.width_ns;
            let width_ns = self.width_ns.min(self.span_ns - begin_ns);
            count(bin) as f64 * 1e9 / width_ns as f64
        };
        self.bins.iter().enumerate().map(rate).collect()
    }

    /// `value` of every bin in µs.
    pub(crate) fn micros(&self, value: impl Fn(&Bin) -> Duration) -> Vec<f64> {
        self.bins.iter().map(|bin| value(bin).nanos() as f64 / 1e3).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn the_last_bin_may_be_short_and_its_rate_knows() {
        let mut bins = Bins::new(MS * 4, MS * 10);
        for offset in [Duration::ZERO, MS * 4, MS * 8, MS * 10 - Duration::from_nanos(1)] {
            bins.at(offset).expect("inside").intended += 1;
        }
        assert!(bins.at(MS * 10).is_none());
        assert_eq!(bins.rates(|bin| bin.intended), [250.0, 250.0, 1000.0]);
    }

    #[test]
    fn too_many_bins_are_widened() {
        let mut bins = Bins::new(Duration::ZERO, MS * 1000);
        assert!(bins.rates(|bin| bin.ok).len() as u64 <= BINS_MAX);
        assert!(bins.at(MS * 1000 - Duration::from_nanos(1)).is_some());
    }
}
