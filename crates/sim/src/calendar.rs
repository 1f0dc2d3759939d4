//! What happens when: events in order of time, and of scheduling where times are equal.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use tailwater_core::Instant;

/// Events to come. Ties are broken by the order in which they were scheduled, so a run never depends
/// on the insides of the heap.
///
/// Holds what is pending only; a driver that schedules one follow-up per event keeps it as large as
/// the number of things that are going on at once.
#[derive(Debug)]
pub(crate) struct Calendar<E> {
    pending: BinaryHeap<Entry<E>>,
    scheduled: u64,
    now: Instant,
}

impl<E> Default for Calendar<E> {
    fn default() -> Self {
        Self { pending: BinaryHeap::new(), scheduled: 0, now: Instant::ZERO }
    }
}

impl<E> Calendar<E> {
    /// `event` shall happen at `when`, or now if that is past: time never runs backwards.
    pub(crate) fn at(&mut self, when: Instant, event: E) {
        let when = when.max(self.now);
        let key = u128::from(when.as_nanos()) << 64 | u128::from(self.scheduled);
        self.scheduled += 1;
        self.pending.push(Entry { key, event });
    }

    /// When the next event is due.
    pub(crate) fn next_at(&self) -> Option<Instant> {
        self.pending.peek().map(Entry::when)
    }

    /// Takes the next event and moves the clock to it.
    pub(crate) fn pop(&mut self) -> Option<(Instant, E)> {
        let entry = self.pending.pop()?;
        self.now = entry.when();
        Some((self.now, entry.event))
    }

    /// What is to come, in no order.
    pub(crate) fn pending(&self) -> impl Iterator<Item = &E> {
        self.pending.iter().map(|entry| &entry.event)
    }

    /// Moves the clock for something that was kept outside of the calendar.
    pub(crate) fn advance(&mut self, now: Instant) {
        self.now = self.now.max(now);
    }
}

/// An event under time and sequence number in one integer, which compares in two instructions.
#[derive(Debug)]
struct Entry<E> {
    key: u128,
    event: E,
}

impl<E> Entry<E> {
    fn when(&self) -> Instant {
        Instant::from_nanos((self.key >> 64) as u64)
    }
}

impl<E> Ord for Entry<E> {
    /// Reversed: std's heap hands out the largest first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.cmp(&self.key)
    }
}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<E> Eq for Entry<E> {}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_core::Rng;

    fn at(ns: u64) -> Instant {
        Instant::from_nanos(ns)
    }

    #[test]
    fn order_is_that_of_a_stable_sort() {
        let mut rng = Rng::from_seed(1);
        let times: Vec<u64> = (0..5_000).map(|_| u64::from(rng.below(300))).collect();
        let mut calendar = Calendar::default();
        for (index, &ns) in times.iter().enumerate() {
            calendar.at(at(ns), index);
        }
        let mut expected: Vec<(u64, usize)> = times.into_iter().zip(0..).collect();
        expected.sort_by_key(|&(ns, _)| ns);
        let found: Vec<(u64, usize)> =
            std::iter::from_fn(|| calendar.pop().map(|(when, index)| (when.as_nanos(), index)))
                .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_scheduled_in_the_past_happens_now_behind_what_is_due_already() {
        let mut calendar = Calendar::default();
        calendar.at(at(10), "first");
        calendar.at(at(10), "second");
        assert_eq!(calendar.pop(), Some((at(10), "first")));
        calendar.at(at(3), "late");
        assert_eq!(calendar.next_at(), Some(at(10)));
        assert_eq!(calendar.pending().count(), 2);
        assert_eq!(calendar.pop(), Some((at(10), "second")));
        assert_eq!(calendar.pop(), Some((at(10), "late")));
        assert_eq!(calendar.pop(), None);
    }
}
