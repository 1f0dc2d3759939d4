//! Sessions that no response will reach: only an explicit credit can wake them.

use super::config::Explicit;
use std::collections::VecDeque;
use tailwater_core::{Rng, SessionId};

/// A list in order of draining. Entries are checked when they are taken: a session that got its
/// window otherwise, or whose id now belongs to another client, is passed over then.
///
/// Bounded by the number of sessions: each is listed at most once at a time, plus one stale entry
/// for each connection closed since the list was last walked.
#[derive(Debug)]
pub(super) struct Drained {
    waiting: VecDeque<Entry>,
    order: Explicit,
    rng: Rng,
}

/// A session as it was when it was listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    pub(super) session: SessionId,
    pub(super) generation: u32,
}

impl Drained {
    pub(super) const fn new(order: Explicit, rng: Rng) -> Self {
        Self {
            waiting: VecDeque::new(),
            order,
            rng,
        }
    }

    pub(super) fn push(&mut self, entry: Entry) {
        self.waiting.push_back(entry);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The one listed longest ago, stale or not.
    pub(super) fn oldest(&self) -> Option<Entry> {
        self.waiting.front().copied()
    }

    pub(super) fn take_oldest(&mut self) -> Option<Entry> {
        self.waiting.pop_front()
    }

    /// The next recipient, stale or not.
    pub(super) fn take(&mut self) -> Option<Entry> {
        match self.order {
            Explicit::OldestFirst => self.waiting.pop_front(),
            Explicit::Random => {
                let count = u32::try_from(self.waiting.len()).unwrap_or(u32::MAX);
                let index = self.rng.below(count) as usize;
                self.waiting.swap_remove_back(index)
            }
        }
    }
}
