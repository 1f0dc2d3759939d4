//! A stored pair: a header, and the chunk of a page that holds key and value.
//!
//! An item is owned by exactly one of: its class's list of free chunks, the request that fills it, a
//! bucket. It moves between them and is neither copied nor allocated anew, so that a chunk can neither
//! leak nor be freed twice.

use bytes::BytesMut;

/// Owner of a chunk, and its header; both are made when the chunk is carved from its page.
#[derive(Debug)]
pub(super) struct Item {
    /// The next of its bucket or of its free list.
    next: Option<Box<Item>>,
    chunk: BytesMut,
    pub(super) hash: u64,
    /// Changes with every store: memcached's CAS unique.
    pub(super) cas: u64,
    pub(super) flags: u32,
    /// Dead from this second on; zero for never.
    pub(super) expires: u32,
    pub(super) stored: u32,
    /// When it last moved to the front of its LRU.
    pub(super) bumped: u32,
    value_len: u32,
    /// Its number in the class, and its node in the class's LRU.
    pub(super) slot: u32,
    pub(super) class: u8,
    key_len: u8,
}

impl Item {
    pub(super) fn new(chunk: BytesMut, class: u8, slot: u32) -> Box<Self> {
        Box::new(Self {
            next: None,
            chunk,
            hash: 0,
            cas: 0,
            flags: 0,
            expires: 0,
            stored: 0,
            bumped: 0,
            value_len: 0,
            slot,
            class,
            key_len: 0,
        })
    }

    /// Writes key and value into the chunk, which is large enough since its class was chosen by them.
    pub(super) fn fill(&mut self, key: &[u8], value: &[u8]) {
        self.key_len = u8::try_from(key.len()).expect("a key has at most 250 bytes");
        self.value_len = u32::try_from(value.len()).expect("a value has at most 1 MiB");
        self.chunk[..key.len()].copy_from_slice(key);
        self.chunk[key.len()..key.len() + value.len()].copy_from_slice(value);
    }

    pub(super) fn key(&self) -> &[u8] {
        &self.chunk[..usize::from(self.key_len)]
    }

    pub(super) fn value(&self) -> &[u8] {
        &self.chunk[usize::from(self.key_len)..][..self.value_len as usize]
    }

    /// Bytes of key and value.
    pub(super) fn len(&self) -> u64 {
        u64::from(self.key_len) + u64::from(self.value_len)
    }
}

/// Items linked one to the next: a bucket, or the free chunks of a class.
#[derive(Debug, Default)]
pub(super) struct Chain(Option<Box<Item>>);

impl Chain {
    pub(super) fn push(&mut self, mut item: Box<Item>) {
        item.next = self.0.take();
        self.0 = Some(item);
    }

    pub(super) fn pop(&mut self) -> Option<Box<Item>> {
        let mut item = self.0.take()?;
        self.0 = item.next.take();
        Some(item)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Item> {
        std::iter::successors(self.0.as_deref(), |item| item.next.as_deref())
    }

    pub(super) fn find(&mut self, is: impl Fn(&Item) -> bool) -> Option<&mut Item> {
        let mut link = &mut self.0;
        while let Some(item) = link {
            if is(item) {
                return Some(item);
            }
            link = &mut item.next;
        }
        None
    }

    pub(super) fn remove(&mut self, is: impl Fn(&Item) -> bool) -> Option<Box<Item>> {
        let mut link = &mut self.0;
        while link.as_ref().is_some_and(|item| !is(item)) {
            link = &mut link.as_mut()?.next;
        }
        let mut item = link.take()?;
        *link = item.next.take();
        Some(item)
    }
}

impl Drop for Chain {
    /// One by one: dropping a long list from its head would recurse to its end.
    fn drop(&mut self) {
        while self.pop().is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(slot: u32) -> Box<Item> {
        Item::new(BytesMut::zeroed(16), 0, slot)
    }

    #[test]
    fn a_chain_gives_back_what_was_pushed() {
        let mut chain = Chain::default();
        (0..5).for_each(|slot| chain.push(item(slot)));
        assert_eq!(chain.find(|item| item.slot == 2).map(|item| item.slot), Some(2));
        for slot in [2, 4, 0] {
            assert_eq!(chain.remove(|item| item.slot == slot).map(|item| item.slot), Some(slot));
        }
        assert!(chain.remove(|item| item.slot == 2).is_none());
        let rest: Vec<u32> = std::iter::from_fn(|| chain.pop()).map(|item| item.slot).collect();
        assert_eq!(rest, [3, 1]);
    }

    #[test]
    fn a_long_chain_is_dropped_without_recursion() {
        let mut chain = Chain::default();
        (0..300_000).for_each(|slot| chain.push(item(slot)));
        drop(chain);
    }

    #[test]
    fn an_item_returns_what_was_filled_in_last() {
        let mut item = item(0);
        item.fill(b"abcdefgh", b"12345678");
        item.fill(b"key", b"value");
        assert_eq!((item.key(), item.value(), item.len()), (&b"key"[..], &b"value"[..], 8));
    }
}
