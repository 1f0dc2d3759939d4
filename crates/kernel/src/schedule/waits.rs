//! How long threads waited for a core, as histograms.

use super::fact::{Fact, Interval, State};
use hdrhistogram::Histogram;
use std::collections::BTreeMap;

/// Threads with a histogram of their own; what further ones waited is in that of all.
const THREADS_MAX: usize = 4096;
/// Longer waits count as this long, in nanoseconds: an hour.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// Waits for a core, by thread and of all together.
pub struct Waits {
    all: Histogram<u64>,
    threads: BTreeMap<u32, Histogram<u64>>,
}

/// Quantiles of waits for a core, in nanoseconds, known to 1 %.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Spread {
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
        Self { all: empty(), threads: BTreeMap::new() }
    }
}

impl Waits {
    /// Counts a wait; facts of other kinds change nothing.
    pub fn add(&mut self, fact: &Fact) {
        let Fact::Interval(Interval { tid, from_ns, to_ns, state: State::Runnable { .. }, .. }) =
            fact
        else {
            return;
        };
        let ns = (to_ns - from_ns).min(LONGEST_NS);
        self.all += ns;
        if self.threads.len() < THREADS_MAX || self.threads.contains_key(tid) {
            *self.threads.entry(*tid).or_insert_with(empty) += ns;
        }
    }

    /// Of all threads together.
    #[must_use]
    pub fn all(&self) -> Spread {
        spread(&self.all)
    }

    /// Of one thread; nothing where it never waited, or came after 4,096 others.
    #[must_use]
    pub fn of(&self, tid: u32) -> Spread {
        self.threads.get(&tid).map(spread).unwrap_or_default()
    }

    /// The threads that have histograms of their own.
    pub fn threads(&self) -> impl Iterator<Item = u32> + '_ {
        self.threads.keys().copied()
    }
}

fn empty() -> Histogram<u64> {
    Histogram::new(2).expect("two digits are within the library's range")
}

fn spread(histogram: &Histogram<u64>) -> Spread {
    // A bucket's upper edge may lie above the longest of all.
    let at = |q| histogram.value_at_quantile(q).min(histogram.max());
    Spread {
        count: histogram.len(),
        p50_ns: at(0.5),
        p99_ns: at(0.99),
        p999_ns: at(0.999),
        max_ns: histogram.max(),
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
    fn each_thread_has_its_waits_and_all_have_them_together() {
        let mut waits = Waits::default();
        (1..=99).for_each(|us| waits.add(&wait(1, us * 1_000)));
        waits.add(&wait(2, 5_000_000));
        let state = State::Running { cpu: 0 };
        waits.add(&interval(1, 0, 1 << 40, state));
        assert_eq!(waits.threads().collect::<Vec<_>>(), [1, 2]);
        assert_eq!((waits.of(1).count, waits.of(2).count, waits.all().count), (99, 1, 100));
        assert!((49_000..=51_000).contains(&waits.of(1).p50_ns), "{:?}", waits.of(1));
        assert!(waits.all().max_ns >= 5_000_000 && waits.of(1).max_ns < 100_000);
        assert_eq!(waits.of(3), Spread::default());
    }
}
