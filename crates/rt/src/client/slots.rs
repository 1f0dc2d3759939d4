//! Values by number, where a number names one value for ever.

use slab::Slab;

/// A table whose keys are a place and a generation: a key of a value that is gone finds nothing, also
/// when its place has another value by then. Its owner bounds how many values there are.
#[derive(Debug)]
pub(super) struct Slots<T> {
    places: Slab<(u32, T)>,
    generation: u32,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { places: Slab::new(), generation: 0 }
    }
}

/// Places that are kept although none has a value. There is a table for each connection, and each may once have had all calls.
pub(super) const KEPT: usize = 1_024;

impl<T> Slots<T> {
    /// Keeps a value. Its key comes again after 2^32 insertions at the earliest.
    pub(super) fn insert(&mut self, value: T) -> u64 {
        self.generation = self.generation.wrapping_add(1);
        key(self.places.insert((self.generation, value)), self.generation)
    }

    pub(super) fn get(&self, key: u64) -> Option<&T> {
        let (place, generation) = split(key);
        let (found, value) = self.places.get(place)?;
        (*found == generation).then_some(value)
    }

    pub(super) fn get_mut(&mut self, key: u64) -> Option<&mut T> {
        let (place, generation) = split(key);
        let (found, value) = self.places.get_mut(place)?;
        (*found == generation).then_some(value)
    }

    pub(super) fn remove(&mut self, key: u64) -> Option<T> {
        self.get(key)?;
        let (_, value) = self.places.try_remove(split(key).0)?;
        if self.places.is_empty() && self.places.capacity() > KEPT {
            // Generations go on, so that keys of before find nothing.
            self.places = Slab::new();
        }
        Some(value)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.places.iter().map(|(place, (generation, value))| (key(place, *generation), value))
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }
}

const fn key(place: usize, generation: u32) -> u64 {
    (generation as u64) << 32 | place as u64
}

const fn split(key: u64) -> (usize, u32) {
    ((key & u32::MAX as u64) as usize, (key >> 32) as u32)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_a_value_that_is_gone_finds_nothing_at_its_place() {
        let mut slots = Slots::default();
        let first = slots.insert('a');
        assert_eq!(slots.remove(first), Some('a'));
        let second = slots.insert('b');
        assert_eq!(split(first).0, split(second).0, "the place is the same");
        assert_eq!(slots.get(first), None);
        assert_eq!(slots.get_mut(first), None);
        assert_eq!(slots.remove(first), None);
        assert_eq!(slots.get(second), Some(&'b'));
        assert_eq!(slots.len(), 1);
    }

    #[test]
    fn a_table_that_is_empty_again_keeps_few_places_and_no_key() {
        let mut slots = Slots::default();
        let keys: Vec<_> = (0..2 * KEPT).map(|value| slots.insert(value)).collect();
        let all = keys.iter().filter_map(|&key| slots.remove(key));
        assert!(all.eq(0..2 * KEPT));
        assert!(slots.places.capacity() <= KEPT, "{} places", slots.places.capacity());
        let next = slots.insert(7);
        assert!(!keys.iter().any(|&key| slots.get(key).is_some()));
        assert_eq!(slots.get(next), Some(&7));
    }

    #[test]
    fn keys_that_were_never_given_out_find_nothing() {
        let mut slots = Slots::default();
        let key = slots.insert('a');
        for wrong in [0, key + 1, key ^ 1 << 32, u64::MAX] {
            assert_eq!(slots.get(wrong), None, "{wrong:#x}");
        }
        assert_eq!(slots.iter().collect::<Vec<_>>(), [(key, &'a')]);
    }
}
