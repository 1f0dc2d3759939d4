//! The waiters at a gate, in order of arrival: a list in a vector, so that each can leave at no cost.
//!
//! It holds at most one place per waiting thread or task and keeps the room of its longest queue.

use crate::primitive::Thread;
use std::task::Waker;
use tailwater_core::caught;

/// A place in the queue.
pub(crate) type Key = usize;

/// How to wake a waiter.
#[derive(Clone)]
pub(crate) enum Wakeup {
    Thread(Thread),
    Task(Waker),
}

impl Wakeup {
    pub(crate) fn wake(self) {
        match self {
            Self::Thread(thread) => thread.unpark(),
            Self::Task(waker) => waker.wake(),
        }
    }

    /// Whether both wake the same task. A thread waits by its own alone.
    pub(crate) fn will_wake(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Task(one), Self::Task(other)) => one.will_wake(other),
            _ => true,
        }
    }
}

/// Wake-ups to give once the queue is unlocked. The first needs no memory: mostly it is the only one.
#[derive(Default)]
#[must_use = "a wake-up that is not given is lost"]
pub(crate) struct Wakes {
    first: Option<Wakeup>,
    rest: Vec<Wakeup>,
    /// To be dropped without the lock: what a waker drops may be a waiter of this very queue.
    retired: Option<Waiter>,
}

impl Wakes {
    pub(crate) fn retire(&mut self, waiter: Option<Waiter>) {
        self.retired = waiter;
    }

    pub(crate) fn push(&mut self, wakeup: Wakeup) {
        match self.first {
            None => self.first = Some(wakeup),
            Some(_) => self.rest.push(wakeup),
        }
    }

    /// To be called without the lock.
    pub(crate) fn give(self) {
        for wakeup in self.first.into_iter().chain(self.rest) {
            // A waker is foreign code: its panic ends here, for the present thread may have the lock by now
            // without a guard, and others wait behind it.
            let _ = caught(|| wakeup.wake());
        }
        drop_waker(self.retired);
    }
}

/// Drops what holds a waker, without the lock. A panic of its waker's destructor ends here, as above.
pub(crate) fn drop_waker<T>(retired: T) {
    let _ = caught(|| drop(retired));
}

pub(crate) struct Waiter {
    pub(crate) need: usize,
    pub(crate) since_ns: u64,
    pub(crate) wakeup: Wakeup,
    /// It was woken to try for itself and has not done so yet.
    pub(crate) woken: bool,
    /// Since when it could have had the gate, had others not been quicker.
    pub(crate) passed_over_ns: Option<u64>,
    /// It got what it needs and has left the list; its place is kept until it notices.
    pub(crate) granted: bool,
    before: Option<Key>,
    after: Option<Key>,
}

impl Waiter {
    pub(crate) const fn new(need: usize, since_ns: u64, wakeup: Wakeup) -> Self {
        Self {
            need,
            since_ns,
            wakeup,
            woken: false,
            passed_over_ns: None,
            granted: false,
            before: None,
            after: None,
        }
    }
}

enum Place {
    Used(Waiter),
    Free(Option<Key>),
}

pub(crate) struct Queue {
    places: Vec<Place>,
    free: Option<Key>,
    first: Option<Key>,
    last: Option<Key>,
    /// The first was passed over for too long: nobody else may take the gate.
    pub(crate) barred: bool,
}

impl Queue {
    pub(crate) const fn new() -> Self {
        Self { places: Vec::new(), free: None, first: None, last: None, barred: false }
    }

    pub(crate) const fn first(&self) -> Option<Key> {
        self.first
    }

    pub(crate) fn after(&self, key: Key) -> Option<Key> {
        self.get(key).after
    }

    pub(crate) fn get(&self, key: Key) -> &Waiter {
        match &self.places[key] {
            Place::Used(waiter) => waiter,
            Place::Free(_) => unreachable!("place {key} is free; a waiter frees its place once"),
        }
    }

    pub(crate) fn get_mut(&mut self, key: Key) -> &mut Waiter {
        match &mut self.places[key] {
            Place::Used(waiter) => waiter,
            Place::Free(_) => unreachable!("place {key} is free; a waiter frees its place once"),
        }
    }

    /// Joins at the end.
    pub(crate) fn join(&mut self, mut waiter: Waiter) -> Key {
        waiter.before = self.last;
        let key = self.free.unwrap_or(self.places.len());
        if key == self.places.len() {
            self.places.push(Place::Used(waiter));
        } else {
            if let Place::Free(next) = self.places[key] {
                self.free = next;
            }
            self.places[key] = Place::Used(waiter);
        }
        match self.last {
            None => self.first = Some(key),
            Some(last) => self.get_mut(last).after = Some(key),
        }
        self.last = Some(key);
        key
    }

    /// Takes the first off the list and leaves it its place.
    pub(crate) fn grant(&mut self, key: Key) -> Wakeup {
        self.unlink(key);
        let waiter = self.get_mut(key);
        waiter.granted = true;
        // It is woken once more and no more. Not cloned: a waker's clone is foreign code, and the queue is locked.
        std::mem::replace(&mut waiter.wakeup, Wakeup::Task(Waker::noop().clone()))
    }

    /// Gives back the place of one that is off the list; drop it once the queue is unlocked.
    #[must_use = "its waker must not be dropped under the lock"]
    pub(crate) fn free(&mut self, key: Key) -> Option<Waiter> {
        let place = std::mem::replace(&mut self.places[key], Place::Free(self.free));
        self.free = Some(key);
        match place {
            Place::Used(waiter) => Some(waiter),
            Place::Free(_) => None,
        }
    }

    /// Takes one off the list, wherever it stands.
    pub(crate) fn unlink(&mut self, key: Key) {
        let (before, after) = (self.get(key).before, self.get(key).after);
        match before {
            None => self.first = after,
            Some(before) => self.get_mut(before).after = after,
        }
        match after {
            None => self.last = before,
            Some(after) => self.get_mut(after).before = before,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use tailwater_core::Rng;

    fn order(queue: &Queue) -> Vec<u64> {
        let keys = std::iter::successors(queue.first(), |key| queue.after(*key));
        keys.map(|key| queue.get(key).since_ns).collect()
    }

    /// Against the naive queue: join at the end, leave from anywhere.
    #[test]
    fn it_is_a_queue_that_can_be_left_anywhere() {
        let (mut queue, mut naive) = (Queue::new(), VecDeque::new());
        let mut rng = Rng::from_seed(7);
        for since_ns in 0..2_000_u64 {
            if naive.len() < 3 || rng.below(2) == 0 {
                let wakeup = Wakeup::Task(Waker::noop().clone());
                naive.push_back((queue.join(Waiter::new(1, since_ns, wakeup)), since_ns));
            } else {
                let at = usize::try_from(rng.below(u32::try_from(naive.len()).unwrap())).unwrap();
                let (key, _) = naive.remove(at).unwrap();
                queue.unlink(key);
                assert!(queue.free(key).is_some());
            }
            assert_eq!(order(&queue), naive.iter().map(|one| one.1).collect::<Vec<_>>());
        }
        assert!(queue.places.len() < 1_000, "places are used again");
    }
}
