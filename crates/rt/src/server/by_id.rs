//! A connection's requests that run, by the ids that its client chose.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::LazyLock;
use tailwater_core::RequestId;

/// Flights by the ids of their requests: a table with linear probing (Knuth, *The Art of Computer Programming*, vol. 3, §6.4,
/// algorithms L and R), of which half is free.
///
/// Bounded by what is inserted. Those of one id stand in the order in which they were inserted, so that each walks over all: a
/// client that gives its requests one id pays for each walk with a request.
#[derive(Default)]
pub(super) struct ById {
    /// None, or a power of two.
    entries: Vec<Entry>,
    len: usize,
}

#[derive(Clone, Copy)]
struct Entry {
    id: RequestId,
    flight: u32,
}

/// No flight has such a slot: there are fewer than 2²⁴.
const FREE: Entry = Entry { id: RequestId(0), flight: u32::MAX };

/// Entries of the smallest table: 64 bytes.
const LEAST: usize = 4;

/// Of this process alone: a client cannot choose ids that fall together.
static KEYS: LazyLock<[u64; 2]> = LazyLock::new(|| {
    let random = RandomState::new();
    [random.hash_one(0), random.hash_one(1) | 1]
});

impl ById {
    pub(super) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn insert(&mut self, id: RequestId, flight: u32) {
        if 2 * (self.len + 1) > self.entries.len() {
            self.grow();
        }
        self.put(Entry { id, flight });
        self.len += 1;
    }

    /// Nothing happens where it is not there.
    pub(super) fn remove(&mut self, id: RequestId, flight: u32) {
        let Some(mut hole) = self.of(id).find(|&at| self.entries[at].flight == flight) else {
            return;
        };
        let mut next = self.behind(hole);
        while !self.entries[next].is_free() {
            // It may not stand before its home, where nobody would look for it.
            let entry = self.entries[next];
            if self.steps(self.home(entry.id), next) >= self.steps(hole, next) {
                self.entries[hole] = entry;
                hole = next;
            }
            next = self.behind(next);
        }
        self.entries[hole] = FREE;
        self.len -= 1;
        if self.len == 0 {
            *self = Self::default();
        }
    }

    /// The flight of an id; of several the one that was inserted last.
    pub(super) fn newest(&self, id: RequestId) -> Option<u32> {
        self.of(id).last().map(|at| self.entries[at].flight)
    }

    /// Where entries of an id are, the oldest first.
    fn of(&self, id: RequestId) -> impl Iterator<Item = usize> {
        self.cluster(id).filter(move |&at| self.entries[at].id == id)
    }

    /// Where they may be.
    fn cluster(&self, id: RequestId) -> impl Iterator<Item = usize> {
        // A table without entries has no place.
        let home = (self.len > 0).then(|| self.home(id));
        std::iter::successors(home, |&at| Some(self.behind(at)))
            .take_while(|&at| !self.entries[at].is_free())
    }

    fn put(&mut self, entry: Entry) {
        let mut at = self.home(entry.id);
        while !self.entries[at].is_free() {
            at = self.behind(at);
        }
        self.entries[at] = entry;
    }

    fn grow(&mut self) {
        let doubled = vec![FREE; (2 * self.entries.len()).max(LEAST)];
        let old = std::mem::replace(&mut self.entries, doubled);
        // From a gap on, or the newer of one id that stand over the table's end would come first.
        let gap = old.iter().position(Entry::is_free).unwrap_or(0);
        let (end, begin) = old.split_at(gap);
        begin.iter().chain(end).filter(|entry| !entry.is_free()).for_each(|entry| self.put(*entry));
    }

    /// Where an id stands, if nothing stood there before: by a folded multiplication, as of the crate `foldhash`. A plain one has ids
    /// that count lie in rows.
    fn home(&self, id: RequestId) -> usize {
        let [mask, factor] = *KEYS;
        let product = u128::from(id.0 ^ mask) * u128::from(factor);
        let folded = (product >> 64) as usize ^ product as usize;
        folded & (self.entries.len() - 1)
    }

    const fn behind(&self, at: usize) -> usize {
        (at + 1) & (self.entries.len() - 1)
    }

    /// From one place forward to another.
    const fn steps(&self, from: usize, to: usize) -> usize {
        to.wrapping_sub(from) & (self.entries.len() - 1)
    }
}

impl Entry {
    const fn is_free(&self) -> bool {
        self.flight == FREE.flight
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use tailwater_core::Rng;

    /// Beside a list that is walked, with so many ids.
    fn is_that_of_a_list(ids: u32, seed: u64) {
        let mut rng = Rng::from_seed(seed);
        let (mut by_id, mut list) = (ById::default(), Vec::new());
        for flight in 0..20_000 {
            // From none to some hundred, and back.
            let begins = if flight % 2_000 < 1_000 { 3 } else { 1 };
            let id = if list.is_empty() || rng.below(4) < begins {
                let id = RequestId(rng.below(ids).into());
                by_id.insert(id, flight);
                list.push((id, flight));
                id
            } else {
                let (id, flight) = list.remove(rng.below(list.len() as u32) as usize);
                by_id.remove(id, flight);
                id
            };
            let newest = list.iter().rev().find(|(of, _)| *of == id).map(|&(_, flight)| flight);
            let found = (by_id.newest(id), by_id.len);
            assert_eq!(found, (newest, list.len()), "{ids} ids, seed {seed}, flight {flight}");
        }
    }

    #[test]
    fn whatever_begins_and_ends_the_newest_of_an_id_is_that_of_a_plain_list() {
        for (ids, seed) in [(1, 1), (5, 2), (64, 3), (1_000, 4), (u32::MAX, 5)] {
            is_that_of_a_list(ids, seed);
        }
    }

    #[test]
    fn what_is_not_there_is_not_found_and_not_removed() {
        let mut by_id = ById::default();
        assert_eq!(by_id.newest(RequestId(1)), None);
        by_id.remove(RequestId(1), 7);
        by_id.insert(RequestId(1), 7);
        by_id.remove(RequestId(1), 8);
        by_id.remove(RequestId(2), 7);
        assert_eq!((by_id.newest(RequestId(1)), by_id.newest(RequestId(2))), (Some(7), None));
        by_id.remove(RequestId(1), 7);
        assert!(by_id.newest(RequestId(1)).is_none() && by_id.is_empty());
        assert_eq!(by_id.entries.capacity(), 0, "a connection without requests has no table");
    }

    /// A CANCEL looks at each place.
    #[test]
    fn among_thousands_an_id_is_looked_for_at_a_few_places_whether_it_is_there_or_not() {
        // Of a client that counts, and of one that counts by a large power of two.
        for stride in [1, 1 << 40] {
            let mut by_id = ById::default();
            for number in 0..8_192_u32 {
                by_id.insert(RequestId(u64::from(number) * stride), number);
            }
            let cluster = |id: u64| by_id.cluster(RequestId(id)).count();
            let looked: usize = (0..16_384).map(|number| cluster(number * stride)).sum();
            assert!(looked < 16_384 * 16, "{looked} places for 16,384 ids");
        }
    }
}
