//! Places in the ring between loops and workers, and how a loop hears that one is free.

use crate::primitive::{AtomicIsize, latest};
use std::sync::atomic::Ordering::SeqCst;

/// In the word, beside [`PLACE`] for each that is free: a loop has more than fits the ring and wants to hear of room.
const HUNGRY: isize = 1;
const PLACE: isize = 2;

/// Places that are neither filled nor reserved, as far as there are workers for them. Below zero where workers have become
/// fewer and what was handed over for more is still in the ring.
///
/// One word, so that whoever frees a place and whoever wishes for one see each other, the later the earlier.
pub(super) struct Places(AtomicIsize);

impl Places {
    /// All of them free.
    pub(super) fn new(count: usize) -> Self {
        Self(AtomicIsize::new(count as isize * PLACE))
    }

    /// Reserves one. False if there is none.
    pub(super) fn reserve(&self) -> bool {
        let less = |word| (word >= PLACE).then(|| word - PLACE);
        // Pairs with `release`: what was in the slot was taken out before, so that a push finds it free.
        self.0.fetch_update(SeqCst, SeqCst, less).is_ok()
    }

    /// There are so many more of them, or fewer. A loop that waits for room is woken by the caller.
    pub(super) fn add(&self, more: isize) {
        // Nothing is passed on with it. Before the doorbells are looked at: the publishing of rule 2 in `bell.rs`.
        self.0.fetch_add(more * PLACE, SeqCst);
    }

    /// More are filled than there are workers for.
    pub(super) fn are_overfull(&self) -> bool {
        // Pairs with `add`. A sleeper asks after it lay down: the look for work of rule 1 in `bell.rs`.
        latest(&self.0) < 0
    }

    /// One is free again. True if a loop waits for one: then all loops are to be woken.
    #[must_use]
    pub(super) fn release(&self) -> bool {
        let is_wished = |word: isize| word & HUNGRY != 0;
        // The second lets one of many tell the loops.
        is_wished(self.0.fetch_add(PLACE, SeqCst)) && is_wished(self.0.fetch_and(!HUNGRY, SeqCst))
    }

    /// The caller cannot go on before there is room. True if there is some already.
    pub(super) fn await_room(&self) -> bool {
        // Nothing is passed on with it: that a loop may go on is asked of `reserve`.
        self.0.fetch_or(HUNGRY, SeqCst) >= PLACE
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;

    fn places(count: usize) -> Arc<Places> {
        Arc::new(Places::new(count))
    }

    #[test]
    fn a_loop_that_awaits_room_sees_the_last_place_or_is_told_of_it_once() {
        loom::model(|| {
            let places = places(2);
            assert!(places.reserve() && places.reserve() && !places.reserve());
            let workers = [(); 2].map(|()| {
                let places = places.clone();
                thread::spawn(move || places.release())
            });
            let is_seen = places.await_room();
            let told = workers.map(|worker| worker.join().unwrap());
            assert!(is_seen || told.contains(&true), "the loop sleeps beside a free place");
            assert_ne!(told, [true; 2], "one wish is told once");
            assert!(places.reserve() && places.reserve() && !places.reserve());
        });
    }

    /// Workers become fewer while a loop takes the last place and a worker frees one.
    #[test]
    fn places_add_up_while_workers_become_fewer() {
        loom::model(|| {
            let places = places(2);
            assert!(places.reserve());
            let (shrinking, working) = (places.clone(), places.clone());
            let shrinking = thread::spawn(move || shrinking.add(-1));
            let working = thread::spawn(move || working.release());
            let is_reserved = places.reserve();
            shrinking.join().unwrap();
            working.join().unwrap();
            // One is left of two, and the loop may have it.
            assert!(!places.are_overfull());
            assert_eq!(places.reserve(), !is_reserved);
            assert!(!places.reserve());
        });
    }
}
