//! The buckets that one item lock protects, and the counts of what happened to them.

use super::item::{Chain, Item};

/// What an item lock protects. Counting here costs no lock and no shared cache line of its own.
#[derive(Debug)]
pub(super) struct Stripe {
    buckets: Box<[Chain]>,
    pub(super) counts: Counts,
}

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// What happened in a store since it was made, and what it holds.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub struct Counts { $($(#[$doc])* pub $name: u64,)* }

        impl Counts {
            pub(super) fn add(&mut self, other: &Self) { $(self.$name += other.$name;)* }
        }
    };
}

counts! {
    /// Items now.
    items,
    /// Bytes of their keys and values.
    bytes,
    /// Items ever stored.
    stored,
    /// Keys looked up that were there.
    get_hits,
    /// Keys looked up that were not there, or had expired.
    get_misses,
    /// Deletions of keys that were there.
    delete_hits,
    /// Deletions of keys that were not there.
    delete_misses,
    /// Touched keys that were there.
    touch_hits,
    /// Touched keys that were not there.
    touch_misses,
    /// `cas` of an unchanged item.
    cas_hits,
    /// `cas` of an item that had changed.
    cas_changed,
    /// `cas` of a key that was not there.
    cas_misses,
    /// Living items that gave way to others.
    evictions,
    /// Dead items that gave way to others.
    reclaimed,
}

impl Stripe {
    pub(super) fn new(buckets: usize) -> Self {
        let buckets = std::iter::repeat_with(Chain::default).take(buckets).collect();
        Self { buckets, counts: Counts::default() }
    }

    pub(super) fn find(&mut self, hash: u64, key: &[u8]) -> Option<&mut Item> {
        self.bucket(hash).find(|item| item.hash == hash && item.key() == key)
    }

    pub(super) fn insert(&mut self, item: Box<Item>) {
        self.counts.items += 1;
        self.counts.bytes += item.len();
        self.bucket(item.hash).push(item);
    }

    pub(super) fn remove(&mut self, hash: u64, class: u8, slot: u32) -> Option<Box<Item>> {
        let item = self.bucket(hash).remove(|item| item.class == class && item.slot == slot)?;
        self.counts.items -= 1;
        self.counts.bytes -= item.len();
        Some(item)
    }

    pub(super) fn items(&self) -> impl Iterator<Item = &Item> {
        self.buckets.iter().flat_map(Chain::iter)
    }

    /// The stripe was chosen by the hash's low bits, so the bucket is by its high ones.
    fn bucket(&mut self, hash: u64) -> &mut Chain {
        let index = (hash >> 32) as usize & (self.buckets.len() - 1);
        &mut self.buckets[index]
    }
}
