//! What some threads did in a window, added up.

use super::fact::{Fact, Interrupting, Interruption, Interval, State};
use super::waits::{WaitQuantiles, Waits};
use std::collections::{BTreeMap, BTreeSet};

/// The times of some threads, all together, between two times.
pub struct Account {
    from_ns: u64,
    to_ns: u64,
    threads: BTreeSet<u32>,
    times: Times,
    waits: Waits,
    softirqs: BTreeMap<u32, Waits>,
}

/// How long threads were in each state, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Times {
    /// With a core.
    pub running_ns: u64,
    /// In a run queue.
    pub runnable_ns: u64,
    /// Asleep, or stopped.
    pub asleep_ns: u64,
    /// Where events are lost that would say.
    pub unknown_ns: u64,
}

/// Softirqs of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Softirqs {
    /// The kind.
    pub vector: u32,
    /// How long they took.
    pub spread: WaitQuantiles,
}

impl Account {
    /// An empty account of this window, in nanoseconds of the events' clock.
    #[must_use]
    pub fn new(from_ns: u64, to_ns: u64) -> Self {
        let (times, waits, softirqs) = (Times::default(), Waits::default(), BTreeMap::new());
        Self { from_ns, to_ns, threads: BTreeSet::new(), times, waits, softirqs }
    }

    /// Adds a fact. Time counts as far as it lies within the window; waits and softirqs count where they end in it.
    pub fn add(&mut self, fact: &Fact) {
        match fact {
            Fact::Interval(interval) => self.add_interval(fact, interval),
            Fact::Interruption(Interruption {
                from_ns,
                to_ns,
                by: Interrupting::Softirq(vector),
                ..
            }) if self.has(*to_ns) => {
                self.softirqs.entry(*vector).or_default().add_ns(to_ns - from_ns);
            }
            Fact::Interruption(_) | Fact::Void { .. } => {}
        }
    }

    fn add_interval(
        &mut self,
        fact: &Fact,
        Interval { tid, from_ns, to_ns, state, .. }: &Interval,
    ) {
        let within = (*to_ns).min(self.to_ns).saturating_sub((*from_ns).max(self.from_ns));
        let sum = match state {
            State::Running { .. } => &mut self.times.running_ns,
            State::Runnable { .. } => &mut self.times.runnable_ns,
            State::Asleep { .. } | State::Stopped { .. } => &mut self.times.asleep_ns,
            State::Unknown => &mut self.times.unknown_ns,
        };
        *sum += within;
        if within > 0 {
            self.threads.insert(*tid);
        }
        if self.has(*to_ns) {
            self.waits.add(fact);
        }
    }

    const fn has(&self, at_ns: u64) -> bool {
        self.from_ns <= at_ns && at_ns < self.to_ns
    }

    /// How many threads it has time of.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// The times.
    #[must_use]
    pub const fn times(&self) -> Times {
        self.times
    }

    /// How long they waited for a core.
    #[must_use]
    pub fn waits(&self) -> WaitQuantiles {
        self.waits.spread()
    }

    /// The softirqs that ran while they had the core.
    pub fn softirqs(&self) -> impl Iterator<Item = Softirqs> + '_ {
        let of =
            |(vector, waits): (&u32, &Waits)| Softirqs { vector: *vector, spread: waits.spread() };
        self.softirqs.iter().map(of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Name;
    use crate::schedule::{After, Behind, Waker};

    fn interval(tid: u32, from_ns: u64, to_ns: u64, state: State) -> Fact {
        Fact::Interval(Interval { tid, name: Name::default(), from_ns, to_ns, state })
    }

    fn softirq(vector: u32, from_ns: u64, to_ns: u64) -> Fact {
        Fact::Interruption(Interruption {
            tid: 1,
            from_ns,
            to_ns,
            by: Interrupting::Softirq(vector),
        })
    }

    #[test]
    fn time_counts_within_the_window_and_waits_where_they_end() {
        let mut account = Account::new(1_000, 2_000);
        let asleep = State::Asleep { is_uninterruptible: false, woken: Waker::Timer };
        let runnable =
            || State::Runnable { cpu: 0, after: After::Woken, behind: Behind::default() };
        account.add(&interval(1, 500, 1_200, asleep));
        account.add(&interval(1, 1_200, 1_230, runnable()));
        account.add(&interval(1, 1_230, 1_900, State::Running { cpu: 0 }));
        account.add(&interval(1, 1_900, 2_500, runnable()));
        account.add(&interval(2, 0, 9_000, State::Unknown));
        account.add(&interval(3, 2_000, 9_000, State::Running { cpu: 1 }));
        [softirq(3, 1_300, 1_340), softirq(3, 1_990, 2_010), softirq(9, 900, 1_001)]
            .iter()
            .for_each(|fact| account.add(fact));
        let times = Times { running_ns: 670, runnable_ns: 130, asleep_ns: 200, unknown_ns: 1_000 };
        assert_eq!((account.times(), account.threads()), (times, 2));
        let waits = account.waits();
        assert_eq!((waits.count, waits.max_ns), (1, 30), "one wait ended in the window");
        let softirqs: Vec<(u32, u64, u64)> =
            account.softirqs().map(|of| (of.vector, of.spread.count, of.spread.max_ns)).collect();
        assert_eq!(softirqs, [(3, 1, 40), (9, 1, 101)]);
    }
}
