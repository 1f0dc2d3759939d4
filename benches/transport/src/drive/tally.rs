//! Counts answers and their round trips without costing the generator much.

use hdrhistogram::Histogram;

/// Round trips in nanoseconds.
pub(super) struct Tally {
    histogram: Histogram<u64>,
    /// Answers received together have waited equally long: they are recorded in one step.
    latest_ns: u64,
    waiting: u64,
}

/// Longest round trip that is told apart: a minute.
const LONGEST_NS: u64 = 60_000_000_000;

impl Tally {
    pub(super) fn new() -> Self {
        Self {
            histogram: Histogram::new_with_bounds(1, LONGEST_NS, 3)
                .expect("bounds and digits are constants within the library's range"),
            latest_ns: 0,
            waiting: 0,
        }
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.histogram.reset();
        self.waiting = 0;
    }

    #[inline]
    pub(super) fn count(&mut self, round_trip_ns: u64) {
        if round_trip_ns != self.latest_ns {
            self.record();
            self.latest_ns = round_trip_ns;
        }
        self.waiting += 1;
    }

    /// Answers so far.
    pub(super) fn answers(&mut self) -> u64 {
        self.record();
        self.histogram.len()
    }

    /// The round trip that the share `q` of all did not exceed; zero of none.
    pub(super) fn quantile_ns(&mut self, q: f64) -> u64 {
        self.record();
        self.histogram.value_at_quantile(q)
    }

    fn record(&mut self) {
        if self.waiting > 0 {
            self.histogram.saturating_record_n(self.latest_ns.max(1), self.waiting);
            self.waiting = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grouped_counts_equal_single_ones() {
        let mut tally = Tally::new();
        for round_trip_ns in [5, 5, 5, 7, 5, 9, 9, 9, 9, 9] {
            tally.count(round_trip_ns);
        }
        assert_eq!(tally.answers(), 10);
        assert_eq!((tally.quantile_ns(0.4), tally.quantile_ns(0.5)), (5, 7));
        assert_eq!(tally.quantile_ns(1.0), 9);
        tally.count(3);
        tally.clear();
        assert_eq!(tally.answers(), 0);
    }
}
