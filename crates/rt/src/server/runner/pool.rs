//! What loops and workers share: the ring of requests to run, and how workers are reached.
//!
//! The run queue stays with the loop, so that delay signal, AQM and order are the same as in-line; only as
//! many requests as there are workers are handed over ahead of time. A loop reserves a place in the ring
//! before it asks the controller for its last word: a request that is admitted then is always handed over.

use super::places::Places;
use crate::bell::Bell;
use crate::handover::Handover;
use crate::primitive::ArrayQueue;
use crate::server::job::Job;
use crate::server::key::FlightKey;
use crate::staff::Staff;
use std::sync::Arc;

/// A flight as workers name it: the loop's number, and the loop's key.
pub(crate) type Abroad = (usize, FlightKey);

/// A request on its way to a worker.
pub(crate) struct Handed {
    pub(super) flight: Abroad,
    pub(super) handover: Arc<Handover>,
    pub(super) job: Job,
}

pub(crate) struct Pool<T = Handed> {
    ring: ArrayQueue<T>,
    places: Places,
    /// Workers that take no requests empty an overfull ring all the same.
    pub(crate) staff: Staff<Abroad>,
}

impl<T> Pool<T> {
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

    /// From now on so many workers take requests; all there are at most. For one caller at a time, who calls [`Staff::wake`]
    /// afterwards.
    pub(in crate::server) fn resize(&self, workers: usize) {
        let more = workers.min(self.staff.threads()) as isize - self.staff.active() as isize;
        self.staff.resize(workers);
        self.places.add(more);
    }

    /// A place is free again. True if a loop waits for one: then all loops are to be woken.
    #[must_use]
    pub(super) fn release(&self) -> bool {
        self.places.release()
    }

    /// Hands a request over, by a reserved place.
    pub(super) fn push(&self, handed: T) {
        let fits = self.ring.push(handed);
        assert!(fits.is_ok(), "a reserved place is free");
        self.staff.rouse();
        // Its place was reserved before workers became fewer. Those that take no more lie down where `rouse` does not ring.
        if self.is_overfull() {
            self.staff.wake();
        }
    }

    /// The next request for a worker, and its place is free. True beside it if a loop waits for one. The worker `was_rung`
    /// if its last sleep ended for a request: though others have become enough meanwhile, it takes that one.
    pub(super) fn next(&self, worker: usize, was_rung: bool) -> Option<(T, bool)> {
        let is_asked = self.staff.is_active(worker) || was_rung || self.is_overfull();
        if !is_asked {
            return None;
        }
        let handed = self.ring.pop()?;
        Some((handed, self.release()))
    }

    /// A worker sleeps until it is woken; see [`Staff::rest`].
    #[must_use]
    pub(super) fn rest(&self, worker: usize, has_room: bool, sleep: impl FnOnce()) -> bool {
        let has_item = || !self.ring.is_empty();
        self.staff.rest(worker, has_room, has_item, || {
            if !(has_room && self.is_overfull() && has_item()) {
                sleep();
            }
        })
    }

    /// Workers have become fewer, and what was handed over for more is in the ring or will be: then all take requests, lest
    /// they wait for one that is busy.
    fn is_overfull(&self) -> bool {
        self.places.are_overfull()
    }

    /// The caller cannot go on before there is room. True if there is some already.
    pub(super) fn await_room(&self) -> bool {
        self.places.await_room()
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::models::{Rings, model};
    use loom::thread;

    /// Of two workers the first is in a long handler: it never looks. The second takes no more, but for one of two requests
    /// that have their places. If it sleeps beside them, that is a deadlock, which loom tells.
    #[test]
    fn one_of_two_is_begun_though_both_are_handed_over_while_workers_become_fewer() {
        model(|| {
            let bell = Rings::new();
            let pool = Arc::new(Pool::new(vec![Rings::new(), bell.clone()]));
            // A loop asks the controller between this and the push.
            assert!(pool.reserve() && pool.reserve());
            let (begins, shrinks) = (pool.clone(), pool.clone());
            let second = thread::spawn(move || {
                let mut was_rung = false;
                while begins.next(1, was_rung).is_none() {
                    was_rung = begins.rest(1, true, || bell.wait());
                }
            });
            // As `Threads::set_model` has it.
            let shrinks = thread::spawn(move || {
                shrinks.resize(1);
                shrinks.staff.wake();
            });
            pool.push(());
            pool.push(());
            shrinks.join().unwrap();
            second.join().unwrap();
        });
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
        let (first, awaited) = pool.next(0, false).expect("it was pushed");
        assert_eq!((first.job.origin.key.id.0, awaited), (1, true), "a loop waits for room");
        assert!(pool.reserve() && !pool.reserve());
        assert!(pool.next(0, false).is_some_and(|(_, awaited)| !awaited), "told once");
        assert!(pool.next(0, false).is_none());
    }

    /// It looked before they were handed over, and lies down once it is told to take no more.
    #[test]
    fn a_worker_that_takes_no_more_does_not_sleep_beside_what_was_handed_to_more() {
        let pool = pool(2);
        let sleeps = || {
            let mut sleeps = false;
            assert!(!pool.rest(1, true, || sleeps = true), "nobody rings");
            sleeps
        };
        assert!(pool.next(1, false).is_none() && sleeps());
        for id in [1, 2] {
            assert!(pool.reserve());
            pool.push(handed(id));
        }
        pool.resize(1);
        assert!(!sleeps() && pool.next(1, false).is_some());
        let other_is_left = "the other is for the worker that is left";
        assert!(sleeps() && pool.next(1, false).is_none(), "{other_is_left}");
        assert!(pool.next(1, true).is_some(), "unless it was rung for that one");
    }

    /// The other may be in a long handler, and nothing is overfull.
    #[test]
    fn a_worker_takes_what_it_was_rung_for_though_others_are_enough_by_then() {
        let pool = pool(2);
        assert!(pool.reserve());
        let was_rung = pool.rest(1, true, || {
            pool.push(handed(1));
            pool.resize(1);
        });
        assert!(was_rung && !pool.is_overfull() && pool.next(1, false).is_none());
        assert!(pool.next(1, was_rung).is_some());
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
        let next = |worker| {
            let (handed, _) = pool.next(worker, false)?;
            Some((handed.job.origin.key.id.0, pool.reserve()))
        };
        let taken = [next(1), next(2), next(2), next(0)];
        // One waits for the worker that is left. With that the first place is free, and taken at once.
        assert_eq!(taken, [Some((1, false)), Some((2, false)), None, Some((3, true))]);
        pool.resize(9);
        assert!(pool.staff.is_active(2) && !pool.staff.is_active(3), "there are no more");
        assert!(pool.reserve() && pool.reserve() && !pool.reserve(), "one of three is taken");
    }
}
