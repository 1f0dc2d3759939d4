//! What bounds the calls of a thread's handlers to one tier, whoever makes them.
//!
//! One account for each thread and tier. A call that the crew makes takes its room with it, and brings it back with its
//! outcome: a member has no account of its own.

use crate::primitive::AtomicUsize;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

pub(crate) struct Room {
    calls_max: usize,
    bytes_max: usize,
    calls: Cell<usize>,
    bytes: Cell<usize>,
    /// Of these, what calls of the crew have given back.
    returned: Arc<Returned>,
}

/// What other threads may give back, too.
#[derive(Default)]
struct Returned {
    calls: AtomicUsize,
    bytes: AtomicUsize,
}

/// The room of one call of the thread's own, given back when it is dropped.
pub(super) struct Held {
    room: Rc<Room>,
    bytes: usize,
}

/// The room of one call that the crew makes, given back when it is dropped, on whichever thread.
pub(super) struct Lent {
    returned: Arc<Returned>,
    bytes: usize,
}

impl Room {
    pub(super) fn new(calls_max: usize, bytes_max: usize) -> Self {
        let (calls, bytes, returned) = (Cell::new(0), Cell::new(0), Arc::default());
        Self { calls_max, bytes_max, calls, bytes, returned }
    }

    /// Takes room for one call. `None` if there is none.
    pub(super) fn take(self: &Rc<Self>, bytes: usize) -> Option<Held> {
        self.claim(bytes).then(|| Held { room: self.clone(), bytes })
    }

    /// The same for a call that the crew makes.
    pub(super) fn lend(&self, bytes: usize) -> Option<Lent> {
        self.claim(bytes).then(|| Lent { returned: self.returned.clone(), bytes })
    }

    fn claim(&self, bytes: usize) -> bool {
        self.settle();
        let (calls, held) = (self.calls.get() + 1, self.bytes.get().saturating_add(bytes));
        // A call that comes alone may be longer than all together.
        let fits = held <= self.bytes_max || calls == 1;
        if calls > self.calls_max || !fits {
            return false;
        }
        self.calls.set(calls);
        self.bytes.set(held);
        true
    }

    /// Takes what came back.
    fn settle(&self) {
        let Returned { calls, bytes } = &*self.returned;
        // The load spares a thread without a crew the swaps.
        if calls.load(Relaxed) > 0 {
            // Pairs with the end of `Lent`: with a call its bytes are there.
            self.calls.set(self.calls.get() - calls.swap(0, Acquire));
            self.bytes.set(self.bytes.get() - bytes.swap(0, Relaxed));
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let Self { room, bytes } = self;
        room.calls.set(room.calls.get() - 1);
        room.bytes.set(room.bytes.get() - *bytes);
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        // Ordered by what follows.
        self.returned.bytes.fetch_add(self.bytes, Relaxed);
        // Pairs with `settle`.
        self.returned.calls.fetch_add(1, Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn room_is_bounded_by_calls_and_by_bytes_and_one_that_comes_alone_fits() {
        let room = Rc::new(Room::new(2, 100));
        let alone = room.take(500).expect("it comes alone");
        assert!(room.take(1).is_none());
        drop(alone);
        let first = room.take(60).expect("there is room");
        assert!(room.take(41).is_none());
        let second = room.take(40).expect("it fits to the byte");
        assert!(room.take(0).is_none(), "two calls are the most");
        drop(first);
        assert!(room.take(60).is_some());
        drop(second);
    }

    #[test]
    fn calls_of_the_crew_and_the_threads_own_share_one_account() {
        let room = Rc::new(Room::new(2, 100));
        let (own, lent) = (room.take(60), room.lend(40));
        assert!(own.is_some() && lent.is_some());
        assert!(room.take(0).is_none() && room.lend(0).is_none(), "two calls are the most");
        std::thread::spawn(move || drop(lent)).join().expect("it gives its room back");
        assert!(room.lend(41).is_none(), "the thread's own has sixty bytes");
        let again = room.lend(40);
        assert!(again.is_some() && room.take(0).is_none());
        drop((own, again));
        assert!(room.take(500).is_some(), "all is given back");
    }
}
