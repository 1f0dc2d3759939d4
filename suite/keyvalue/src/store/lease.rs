//! A chunk in a request's hands: given back whatever becomes of the request.

use super::Store;
use super::item::{Chain, Item};
use super::slabs::Slabs;
use crate::locks::{Lock as _, Locks};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Mutex, PoisonError};

/// Owns an item that is in no table.
pub(super) struct Lease<'a, L: Locks> {
    store: &'a Store<L>,
    item: Option<Box<Item>>,
}

impl<'a, L: Locks> Lease<'a, L> {
    pub(super) const fn new(store: &'a Store<L>, item: Box<Item>) -> Self {
        Self { store, item: Some(item) }
    }

    pub(super) fn item(&mut self) -> &mut Item {
        self.item.as_mut().expect("it is taken out by value only")
    }

    /// Hands the item over to a table.
    pub(super) fn keep(mut self) -> Box<Item> {
        self.item.take().expect("it is taken out by value only")
    }

    /// Gives the chunk back to the allocator. Not within the budget: a refused request has to free what
    /// it had allocated, too.
    pub(super) async fn free(mut self) {
        let mut slabs = self.store.slabs.lock().await;
        self.store.hold().await;
        if let Some(item) = self.item.take() {
            slabs.give(item);
        }
    }
}

impl<L: Locks> Drop for Lease<'_, L> {
    /// Only where a request was dropped while it waited, or panicked: dropping cannot wait for a lock of
    /// tasks.
    fn drop(&mut self) {
        if let Some(item) = self.item.take() {
            self.store.orphans.add(item);
        }
    }
}

/// Chunks of dropped requests, until somebody has the slabs lock. No more than there are chunks.
#[derive(Debug, Default)]
pub(super) struct Orphans {
    any: AtomicBool,
    items: Mutex<Chain>,
}

impl Orphans {
    fn add(&self, item: Box<Item>) {
        self.items.lock().unwrap_or_else(PoisonError::into_inner).push(item);
        self.any.store(true, Release);
    }

    pub(super) fn return_to(&self, slabs: &mut Slabs) {
        if self.any.load(Acquire) {
            self.any.store(false, Release);
            let mut items = self.items.lock().unwrap_or_else(PoisonError::into_inner);
            while let Some(item) = items.pop() {
                slabs.give(item);
            }
        }
    }
}
