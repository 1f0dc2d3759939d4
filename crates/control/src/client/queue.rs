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
        self.waiting.pop_front()
    }

    /// Takes a call out of the middle: its caller gave it up. Looks from the front, where those are that
    /// have waited for long.
    pub(super) fn remove(&mut self, id: tailwater_core::RequestId) -> bool {
        let place = self.waiting.iter().position(|waiting| waiting.call.id == id);
        place.is_some_and(|place| self.waiting.remove(place).is_some())
    }

    #[expect(clippy::cast_possible_truncation, reason = "bounded by max, a small number")]
    pub(super) fn len(&self) -> u32 {
        self.waiting.len() as u32
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}
