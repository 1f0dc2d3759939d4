//! What loops and workers share: the ring of requests to run, and how workers are reached.
//!
//! The run queue stays with the loop, so that delay signal, AQM and order are the same as in-line; only as
//! many requests as there are workers are handed over ahead of time. A loop reserves a place in the ring
//! before it asks the controller for its last word: a request that is admitted then is always handed over.

use super::places::Places;
use crate::bell::Bell;
use crate::handover::Handover;
use crate::server::job::Job;
use crate::server::key::FlightKey;
use crate::staff::Staff;
use crossbeam_queue::ArrayQueue;
use std::sync::Arc;

/// A flight as workers name it: the loop's number, and the loop's key.
pub(crate) type Abroad = (usize, FlightKey);

/// A request on its way to a worker.
pub(crate) struct Handed {
    pub(super) flight: Abroad,
    pub(super) handover: Arc<Handover>,
    pub(super) job: Job,
}

pub(crate) struct Pool {
    ring: ArrayQueue<Handed>,
    places: Places,
    /// Workers that take no requests empty an overfull ring all the same.
    pub(crate) staff: Staff<Abroad>,
}

impl Pool {
    /// With a worker for each bell; all of them take requests.
    pub(super) fn new(bells: Vec<impl Bell + Clone + 'static>) -> Self {
        Self {
            ring: ArrayQueue::new(bells.len()),
            places: Places::new(bells.len()),
            staff: Staff::new(bells),
        }
    }

    /// Reserves a place in the ring. False if there is none.
    pub(super) fn reserve(&self) -> bool {
        self.places.reserve()
    }

    /// From now on so many workers take requests; all there are at most. For one caller at a time.
    pub(in crate::server) fn resize(&self, workers: usize) {
        let more = workers.min(self.staff.threads()) as isize - self.staff.active() as isize;
        // Places become fewer before workers do: one that is told to take no more sees that the ring is overfull.
        if more < 0 {
            self.places.add(more);
        }
        self.staff.resize(workers);
        if more > 0 {
            self.places.add(more);
        }
    }

    /// Workers have become fewer, and what was handed over for more is in the ring: then all take requests, lest they
    /// wait for one that is busy.
    pub(super) fn is_overfull(&self) -> bool {
        // A sleeper need not hear of it: it was rung for what it slept over, or is by `Staff::wake`.
        self.places.are_overfull()
    }

    /// A place is free again. True if a loop waits for one: then all loops are to be woken.
    #[must_use]
    pub(super) fn release(&self) -> bool {
        self.places.release()
    }

    /// Hands a request over, by a reserved place.
    pub(super) fn push(&self, handed: Handed) {
        let fits = self.ring.push(handed);
        assert!(fits.is_ok(), "a reserved place is free");
        self.staff.rouse();
    }

    /// Takes a request, and frees its place. True beside it if a loop waits for one.
    pub(super) fn pop(&self) -> Option<(Handed, bool)> {
        let handed = self.ring.pop()?;
        Some((handed, self.release()))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// The caller cannot go on before there is room. True if there is some already.
    pub(super) fn await_room(&self) -> bool {
        self.places.await_room()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::server::runner::flights::Flights;
    use crate::server::testing::job;

    #[derive(Clone)]
    struct Mute;

    impl Bell for Mute {
        fn ring(&self) {}
    }

    fn pool(workers: usize) -> Pool {
        Pool::new(vec![Mute; workers])
    }

    fn handed(id: u64) -> Handed {
        let flight = (0, Flights::default().next_key());
        Handed { flight, handover: Arc::default(), job: job(1, id, 1) }
    }

    #[test]
    fn a_reserved_place_is_free_whatever_others_do_meanwhile() {
        let pool = pool(2);
        assert!(pool.reserve() && pool.reserve() && !pool.reserve());
        assert!(!pool.release() && pool.reserve(), "no loop waits for room");
        assert!(!pool.await_room());
        assert!(pool.release(), "a loop waits for room, and no worker will tell it");
        assert!(pool.reserve() && !pool.await_room());
        pool.push(handed(1));
        pool.push(handed(2));
        assert!(!pool.reserve(), "both places are filled");
        let (first, awaited) = pool.pop().expect("it was pushed");
        assert_eq!((first.job.origin.key.id.0, awaited), (1, true), "a loop waits for room");
        assert!(pool.reserve() && !pool.reserve());
        assert!(pool.pop().is_some_and(|(_, awaited)| !awaited), "told once");
        assert!(pool.pop().is_none());
    }

    #[test]
    fn fewer_workers_have_fewer_places_once_what_was_handed_over_is_taken() {
        let pool = pool(3);
        (1..=3).for_each(|id| {
            assert!(pool.reserve());
            pool.push(handed(id));
        });
        pool.resize(1);
        assert!(pool.staff.is_active(0) && !pool.staff.is_active(1));
        assert!(pool.is_overfull(), "two of three in the ring are beyond the one worker");
        let left = std::iter::from_fn(|| {
            let (handed, _) = pool.pop()?;
            Some((handed.job.origin.key.id.0, pool.reserve()))
        });
        // With the last one the first place is free, and taken at once.
        assert_eq!(left.collect::<Vec<_>>(), [(1, false), (2, false), (3, true)]);
        pool.resize(9);
        assert!(pool.staff.is_active(2) && !pool.staff.is_active(3), "there are no more");
        assert!(pool.reserve() && pool.reserve() && !pool.reserve(), "one of three is taken");
    }
}
