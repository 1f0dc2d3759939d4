//! What bounds the calls of a thread's handlers to one tier.

use std::cell::Cell;
use std::rc::Rc;

pub(crate) struct Room {
    calls_max: usize,
    bytes_max: usize,
    calls: Cell<usize>,
    bytes: Cell<usize>,
}

/// The room of one call, given back when it is dropped.
pub(super) struct Held {
    room: Rc<Room>,
    bytes: usize,
}

impl Room {
    pub(super) const fn new(calls_max: usize, bytes_max: usize) -> Self {
        Self { calls_max, bytes_max, calls: Cell::new(0), bytes: Cell::new(0) }
    }

    /// Takes room for one call. `None` if there is none.
    pub(super) fn take(self: &Rc<Self>, bytes: usize) -> Option<Held> {
        let (calls, held) = (self.calls.get() + 1, self.bytes.get().saturating_add(bytes));
        // A call that comes alone may be longer than all together.
        let fits = held <= self.bytes_max || calls == 1;
        if calls > self.calls_max || !fits {
            return None;
        }
        self.calls.set(calls);
        self.bytes.set(held);
        Some(Held { room: self.clone(), bytes })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let Self { room, bytes } = self;
        room.calls.set(room.calls.get() - 1);
        room.bytes.set(room.bytes.get() - *bytes);
    }
}

#[cfg(test)]
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
}
