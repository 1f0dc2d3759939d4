//! How long threads waited for a core, and how long softirqs took, as histograms.

use super::fact::{Fact, Interval, State};
use hdrhistogram::Histogram;

/// Longer waits count as this long, in nanoseconds: an hour.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// Waits for a core, of all threads that are followed; or the times of softirqs.
pub struct Waits {
    all: Histogram<u64>,
}

/// Quantiles of such times, in nanoseconds, known to 1 %.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WaitQuantiles {
    /// How many.
    pub count: u64,
    /// The median.
    pub p50_ns: u64,
    /// One in a hundred is longer.
    pub p99_ns: u64,
    /// One in a thousand.
    pub p999_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

impl Default for Waits {
    fn default() -> Self {
        Self { all: Histogram::new(2).expect("two digits are within the library's range") }
    }
}

impl Waits {
    /// Counts a wait; facts of other kinds change nothing.
    pub fn add(&mut self, fact: &Fact) {
        if let Fact::Interval(Interval { from_ns, to_ns, state: State::Runnable { .. }, .. }) = fact
        {
            self.add_ns(to_ns - from_ns);
        }
    }

    /// Counts another time.
    pub(super) fn add_ns(&mut self, ns: u64) {
        self.all += ns.min(LONGEST_NS);
    }

    /// How long they were.
    #[must_use]
    pub fn spread(&self) -> WaitQuantiles {
        // A bucket's upper edge may lie above the longest of all.
        let at = |q| self.all.value_at_quantile(q).min(self.all.max());
        WaitQuantiles {
            count: self.all.len(),
            p50_ns: at(0.5),
            p99_ns: at(0.99),
            p999_ns: at(0.999),
            max_ns: self.all.max(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Name;
    use crate::schedule::{After, Behind};

    fn interval(tid: u32, from_ns: u64, to_ns: u64, state: State) -> Fact {
        Fact::Interval(Interval { tid, name: Name::default(), from_ns, to_ns, state })
    }

    fn wait(tid: u32, ns: u64) -> Fact {
        let state = State::Runnable { cpu: 0, after: After::Woken, behind: Behind::default() };
        interval(tid, 1_000, 1_000 + ns, state)
    }

    #[test]
    fn waits_count_and_other_times_do_not() {
        let mut waits = Waits::default();
        (1..=99).for_each(|us| waits.add(&wait(1, us * 1_000)));
        waits.add(&wait(2, 5_000_000));
        waits.add(&interval(1, 0, 1 << 40, State::Running { cpu: 0 }));
        let spread = waits.spread();
        assert_eq!(spread.count, 100);
        assert!((49_000..=51_000).contains(&spread.p50_ns), "{spread:?}");
        assert!((5_000_000..5_100_000).contains(&spread.max_ns), "{spread:?}");
        assert_eq!(Waits::default().spread(), WaitQuantiles::default());
    }
}
