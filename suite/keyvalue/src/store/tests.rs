//! What refusals and dropped requests leave behind: nothing.

use super::*;
use crate::locks::{Tasks, Threads, at_once};
use std::future::Future as _;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use tailwater_sync::budget::{self, Budget};

fn store<L: Locks>() -> Store<L> {
    Store::new(Config { memory: 8 << 20, ..Config::default() }).expect("a store")
}

fn put(value: &[u8]) -> Put<'_> {
    Put { key: b"key", value, flags: 0, expires: 0, when: When::Always }
}

fn used_chunks<L: Locks>(store: &Store<L>) -> u32 {
    at_once(store.classes()).iter().map(|class| class.used_chunks).sum()
}

/// Runs `work` for a request that may not wait at all, in a thread that holds no locks.
fn without_patience<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| {
        let request = scope.spawn(|| budget::scope(Budget::new(Duration::ZERO), work));
        request.join().expect("no panic")
    })
}

#[test]
fn a_set_is_refused_at_the_slabs_lock_before_it_changes_anything() {
    let store = store::<Threads>();
    let slabs = store.slabs.lock();
    let refused = without_patience(|| at_once(store.put(put(b"value"), 2)));
    assert!(matches!(refused, Err(Failure::Refused(_))), "{refused:?}");
    drop(slabs);
    assert_eq!(used_chunks(&store), 0);
}

#[test]
fn a_set_that_is_refused_at_the_item_lock_frees_what_it_allocated() {
    let store = store::<Threads>();
    at_once(store.put(put(b"old"), 2)).expect("stored");
    let stripe = store.stripe(store.hasher.hash_one(&b"key"[..])).lock();
    let refused = without_patience(|| at_once(store.put(put(b"new"), 2)));
    assert!(matches!(refused, Err(Failure::Refused(_))), "{refused:?}");
    drop(stripe);
    assert_eq!(used_chunks(&store), 1);
    assert_eq!(at_once(store.get(b"key", 2, |found| found.value == b"old")), Ok(Some(true)));
}

#[test]
fn a_set_that_is_refused_at_the_lru_lock_leaves_the_old_value() {
    let store = store::<Threads>();
    at_once(store.put(put(b"old"), 2)).expect("stored");
    for lru in &store.lrus {
        let lru = lru.lock();
        let refused = without_patience(|| at_once(store.put(put(b"new"), 2)));
        let deleted = without_patience(|| at_once(store.delete(b"key", 2)));
        drop(lru);
        if refused.is_err() {
            assert!(deleted.is_err(), "an item that is not deleted is there");
            assert_eq!(used_chunks(&store), 1);
            assert_eq!(
                at_once(store.get(b"key", 2, |found| found.value == b"old")),
                Ok(Some(true))
            );
            return;
        }
        at_once(store.put(put(b"old"), 2)).expect("stored");
    }
    panic!("some LRU is this item's");
}

#[test]
fn gets_and_touches_are_refused_at_the_item_lock_only() {
    let store = store::<Threads>();
    at_once(store.put(put(b"value"), 2)).expect("stored");
    let held = (store.slabs.lock(), store.lrus[0].lock());
    // Long after it was stored, so that it ought to move to the front of its LRU.
    assert_eq!(without_patience(|| at_once(store.get(b"key", 900, |_| ()))), Ok(Some(())));
    assert_eq!(without_patience(|| at_once(store.touch(b"key", 0, 900))), Ok(true));
    drop(held);
    let stripe = store.stripe(store.hasher.hash_one(&b"key"[..])).lock();
    assert!(without_patience(|| at_once(store.get(b"key", 900, |_| ()))).is_err());
    assert!(without_patience(|| at_once(store.touch(b"key", 0, 900))).is_err());
    drop(stripe);
}

/// A handler that is dropped while it waits, at each of the locks that come after the allocation.
#[test]
fn a_dropped_request_leaves_its_chunk_to_the_next() {
    let store = store::<Tasks>();
    let mut context = Context::from_waker(Waker::noop());
    let mut dropped = |request: Put<'_>| {
        let mut request = pin!(store.put(request, 2));
        assert_eq!(request.as_mut().poll(&mut context), Poll::Pending);
    };
    let stripe = at_once(store.stripe(store.hasher.hash_one(&b"key"[..])).lock());
    dropped(put(b"value"));
    drop(stripe);

    let lrus: Vec<_> = store.lrus.iter().map(|lru| at_once(lru.lock())).collect();
    dropped(put(b"value"));
    drop(lrus);

    at_once(store.put(put(b"value"), 2)).expect("stored");
    assert_eq!(used_chunks(&store), 1);
}

/// The same where it has stored its item and frees the one that it replaced.
#[test]
fn a_request_dropped_while_it_frees_leaves_the_chunk_to_the_next() {
    let store = store::<Tasks>();
    at_once(store.put(put(b"old"), 2)).expect("stored");
    let mut context = Context::from_waker(Waker::noop());
    let stripe = at_once(store.stripe(store.hasher.hash_one(&b"key"[..])).lock());
    {
        let mut request = pin!(store.put(put(b"new"), 2));
        assert_eq!(request.as_mut().poll(&mut context), Poll::Pending);
        // It has its chunk by now; what it waits for next, once it has its item lock, is this.
        let slabs = at_once(store.slabs.lock());
        drop(stripe);
        assert_eq!(request.as_mut().poll(&mut context), Poll::Pending);
        drop(slabs);
    }
    assert_eq!(at_once(store.get(b"key", 2, |found| found.value == b"new")), Ok(Some(true)));
    at_once(store.put(put(b"newer"), 2)).expect("stored");
    assert_eq!(used_chunks(&store), 1);
}
