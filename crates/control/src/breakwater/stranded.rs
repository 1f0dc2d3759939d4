//! Sessions that no response will reach: only an explicit credit can wake them.

use super::config::Explicit;
use std::collections::VecDeque;
use tailwater_core::{Instant, Rng, SessionId};

/// The stranded sessions of a loop. Entries are checked when they are taken: a session that got its window
/// otherwise, or whose id now belongs to another client, is passed over then.
///
/// Bounded by twice the number of sessions that were ever there at once. Each is listed at most once at a time. When
/// more than half of the entries are of closed connections, all those are taken out.
#[derive(Debug)]
pub(super) struct Stranded {
    /// In the order in which they were stranded.
    waiting: VecDeque<Entry>,
    /// Entries of closed connections among them.
    stale: usize,
    order: Explicit,
    rng: Rng,
}

/// A session as it was when it was listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    pub(super) session: SessionId,
    pub(super) generation: u32,
    pub(super) since: Instant,
}

impl Stranded {
    pub(super) const fn new(order: Explicit, rng: Rng) -> Self {
        Self { waiting: VecDeque::new(), stale: 0, order, rng }
    }

    pub(super) fn push(&mut self, entry: Entry) {
        self.waiting.push_back(entry);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Entries, stale ones included.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// The connection of a listed session was closed; `is_live` tells the other entries from such.
    pub(super) fn on_closed(&mut self, is_live: impl Fn(&Entry) -> bool) {
        self.stale += 1;
        if 2 * self.stale > self.waiting.len() {
            self.waiting.retain(is_live);
            self.stale = 0;
        }
    }

    /// An entry that was taken was stale.
    pub(super) const fn on_stale(&mut self) {
        self.stale = self.stale.saturating_sub(1);
    }

    /// The one that has waited longest, stale or not.
    pub(super) fn oldest(&self) -> Option<Entry> {
        self.waiting.front().copied()
    }

    pub(super) fn take_oldest(&mut self) -> Option<Entry> {
        self.waiting.pop_front()
    }

    /// The next recipient, stale or not.
    pub(super) fn take(&mut self) -> Option<Entry> {
        match self.order {
            Explicit::OldestFirst => self.waiting.pop_front(),
            Explicit::Random => {
                let count = u32::try_from(self.waiting.len()).unwrap_or(u32::MAX);
                let index = self.rng.below(count) as usize;
                self.waiting.swap_remove_back(index)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: u32, since_us: u64) -> Entry {
        let since = Instant::from_nanos(since_us * 1_000);
        Entry { session: SessionId(id), generation: 0, since }
    }

    fn ids(stranded: &mut Stranded) -> Vec<u32> {
        std::iter::from_fn(|| stranded.take()).map(|entry| entry.session.0).collect()
    }

    #[test]
    fn the_longest_stranded_comes_first() {
        let mut stranded = Stranded::new(Explicit::OldestFirst, Rng::from_seed(1));
        (1..=3).for_each(|id| stranded.push(entry(id, u64::from(id))));
        assert_eq!(stranded.oldest().map(|entry| entry.session.0), Some(1));
        assert_eq!(ids(&mut stranded), [1, 2, 3]);
        assert!(stranded.is_empty());
    }

    #[test]
    fn random_order_takes_each_once() {
        let mut stranded = Stranded::new(Explicit::Random, Rng::from_seed(1));
        (0..20).for_each(|id| stranded.push(entry(id, 0)));
        let mut taken = ids(&mut stranded);
        assert_ne!(taken, (0..20).collect::<Vec<_>>());
        taken.sort_unstable();
        assert_eq!(taken, (0..20).collect::<Vec<_>>());
    }

    /// Of six entries four have closed: more than half.
    #[test]
    fn entries_of_closed_connections_go_once_they_are_more_than_half() {
        let mut stranded = Stranded::new(Explicit::OldestFirst, Rng::from_seed(1));
        (0..6).for_each(|id| stranded.push(entry(id, 0)));
        let is_live = |entry: &Entry| entry.session.0 >= 4;
        let left = [(); 4].map(|()| {
            stranded.on_closed(is_live);
            stranded.len()
        });
        assert_eq!(left, [6, 6, 6, 2]);
        assert_eq!(ids(&mut stranded), [4, 5]);
    }

    /// One of the closed was taken, and found to be such: it is not counted any more.
    #[test]
    fn a_stale_entry_that_was_taken_counts_no_more() {
        let mut stranded = Stranded::new(Explicit::OldestFirst, Rng::from_seed(1));
        (0..6).for_each(|id| stranded.push(entry(id, 0)));
        let is_live = |entry: &Entry| entry.session.0 >= 4;
        stranded.on_closed(is_live);
        assert_eq!(stranded.take().map(|entry| entry.session.0), Some(0));
        stranded.on_stale();
        (0..2).for_each(|_| stranded.on_closed(is_live));
        assert_eq!(stranded.len(), 5, "two of five");
        stranded.on_closed(is_live);
        assert_eq!(stranded.len(), 2, "three of five");
    }
}
