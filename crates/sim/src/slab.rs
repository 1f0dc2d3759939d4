//! Things that come and go, under keys that are never used twice.

use tailwater_core::RequestId;

/// Values under dense slots. A key names slot and generation: what was taken out stays gone, so an
/// answer to a request that has ended already is noticed.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

/// Where a value lies: the generation above 32 bits of slot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Key(u64);

impl Key {
    /// As the number of a call, which comes back from the client.
    pub(crate) const fn id(self) -> RequestId {
        RequestId(self.0)
    }

    pub(crate) const fn of(id: RequestId) -> Self {
        Self(id.0)
    }

    const fn slot(self) -> usize {
        (self.0 & 0xffff_ffff) as usize
    }

    const fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

#[derive(Debug)]
struct Slot<T> {
    generation: u32,
    value: Option<T>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    pub(crate) fn insert(&mut self, value: T) -> Key {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: 0, value: None });
            (self.slots.len() - 1) as u32
        });
        let place = &mut self.slots[slot as usize];
        place.value = Some(value);
        Key(u64::from(place.generation) << 32 | u64::from(slot))
    }

    pub(crate) fn get(&self, key: Key) -> Option<&T> {
        let place = self.slots.get(key.slot())?;
        (place.generation == key.generation()).then_some(place.value.as_ref()).flatten()
    }

    pub(crate) fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        let place = self.slots.get_mut(key.slot())?;
        (place.generation == key.generation()).then_some(place.value.as_mut()).flatten()
    }

    pub(crate) fn remove(&mut self, key: Key) -> Option<T> {
        let place = self.slots.get_mut(key.slot())?;
        if place.generation != key.generation() {
            return None;
        }
        let value = place.value.take()?;
        place.generation = place.generation.wrapping_add(1);
        self.free.push(key.slot() as u32);
        Some(value)
    }

    /// The keys of all values that `wanted` chooses, by slot.
    pub(crate) fn keys(&self, wanted: impl Fn(&T) -> bool) -> Vec<Key> {
        let slots = (0_u64..).zip(&self.slots);
        let chosen = slots.filter(|(_, slot)| slot.value.as_ref().is_some_and(&wanted));
        chosen.map(|(index, slot)| Key(u64::from(slot.generation) << 32 | index)).collect()
    }

    /// What is there, by slot.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().filter_map(|slot| slot.value.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_outlives_its_value_without_reaching_the_next() {
        let mut slab = Slab::default();
        let first = slab.insert('a');
        assert_eq!(slab.remove(first), Some('a'));
        let second = slab.insert('b');
        assert_eq!(first.slot(), second.slot(), "the slot is used again");
        assert_eq!(slab.remove(first), None);
        assert_eq!(slab.get_mut(first), None);
        assert_eq!(slab.get_mut(second), Some(&mut 'b'));
        assert_eq!(slab.iter().count(), 1);
        assert_eq!(slab.keys(|value| *value == 'b'), [second]);
        assert_eq!(slab.keys(|value| *value == 'a'), []);
        assert_eq!(Key::of(second.id()), second);
    }
}
