//! Calls that wait for permission, oldest first.

use super::Call;
use std::collections::VecDeque;
use tailwater_core::Instant;

/// A bounded first-in-first-out queue. At the bound [`Queue::push`] hands the oldest back.
#[derive(Debug)]
pub(super) struct Queue {
    waiting: VecDeque<Waiting>,
    max: usize,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) call: Call,
    pub(super) since: Instant,
}

/// Places that are kept although nothing waits: a client has a queue for each of its connections.
const KEPT: usize = 1_024;

impl Queue {
    pub(super) fn new(max: usize) -> Self {
        Self { waiting: VecDeque::new(), max: max.max(1) }
    }

    /// Appends; returns the call that had to make room, if any.
    pub(super) fn push(&mut self, now: Instant, call: Call) -> Option<Call> {
        let evicted = if self.waiting.len() >= self.max { self.waiting.pop_front() } else { None };
        self.waiting.push_back(Waiting { call, since: now });
        evicted.map(|waiting| waiting.call)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Waiting> {
        self.waiting.iter()
    }

    pub(super) fn front(&self) -> Option<&Waiting> {
        self.waiting.front()
    }

    pub(super) fn pop(&mut self) -> Option<Waiting> {
        let first = self.waiting.pop_front();
        self.give_back();
        first
    }

    /// Takes a call out of the middle: its caller gave it up. Looks from the front, where those are that
    /// have waited for long.
    pub(super) fn remove(&mut self, id: tailwater_core::RequestId) -> bool {
        let place = self.waiting.iter().position(|waiting| waiting.call.id == id);
        let removed = place.is_some_and(|place| self.waiting.remove(place).is_some());
        self.give_back();
        removed
    }

    /// Gives the memory of a crowd back once it is gone.
    fn give_back(&mut self) {
        if self.waiting.is_empty() && self.waiting.capacity() > KEPT {
            self.waiting = VecDeque::new();
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "bounded by max, a small number")]
    pub(super) fn len(&self) -> u32 {
        self.waiting.len() as u32
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_core::RequestId;

    #[test]
    fn as_many_places_as_are_kept_stay() {
        let mut queue = Queue::new(8);
        queue.waiting = VecDeque::with_capacity(KEPT);
        let call = Call { id: RequestId(1), deadline: None, priority: 128 };
        queue.push(Instant::ZERO, call);
        assert!(queue.pop().is_some());
        assert_eq!(queue.waiting.capacity(), KEPT);
    }

    #[test]
    fn a_queue_that_is_empty_again_keeps_few_places() {
        let mut queue = Queue::new(8 * KEPT);
        for pops in [true, false] {
            for id in 0..4 * KEPT as u64 {
                let call = Call { id: RequestId(id), deadline: None, priority: 128 };
                assert!(queue.push(Instant::ZERO, call).is_none(), "there is room");
            }
            for id in 0..4 * KEPT as u64 {
                let id = RequestId(id);
                let is_gone = if pops { queue.pop().is_some() } else { queue.remove(id) };
                assert!(is_gone, "{id:?}");
            }
            assert!(queue.waiting.capacity() <= KEPT, "{} places", queue.waiting.capacity());
        }
    }
}
