//! One call that a thread makes for a fan: its own, or one of another thread.

use super::call::{Outcome, Terms};
use super::errand::Errand;
use super::room::{Held, Lent};
use super::state::State;
use crate::client::{CallError, Fill};
use std::rc::Rc;

/// What hears of a call's end, and the call's room.
pub(super) enum Owner {
    /// A fan of this thread.
    Fan(Rc<State>, Held),
    /// One of another thread.
    Errand(Rc<Errand>, Lent),
}

/// One call under way, with the duty to end it: dropped without an end it was lost.
pub(crate) struct Part {
    /// `None` once it has ended.
    owner: Option<Owner>,
    /// Which of its owner's calls it is.
    place: usize,
    shard: usize,
    /// As its terms say.
    reached_only: bool,
    hedged: bool,
}

impl Part {
    pub(super) const fn new(owner: Owner, place: usize, shard: usize, terms: &Terms) -> Self {
        let Terms { reached_only, hedged, .. } = *terms;
        Self { owner: Some(owner), place, shard, reached_only, hedged }
    }

    fn end(&mut self, outcome: Outcome) {
        match self.owner.take() {
            Some(Owner::Fan(state, _held)) => state.end(self.place, outcome),
            Some(Owner::Errand(errand, lent)) => errand.end(self.place, outcome, lent),
            None => {}
        }
    }
}

impl Fill for Part {
    fn take_on(&self, token: u64) -> bool {
        match &self.owner {
            Some(Owner::Fan(state, _)) => state.take_on(self.place, self.shard, token),
            Some(Owner::Errand(errand, _)) => errand.take_on(self.place, self.shard, token),
            None => false,
        }
    }

    fn awaits_connection(&self) -> bool {
        !self.reached_only
    }

    fn may_run_twice(&self) -> bool {
        self.hedged
    }

    fn is_wanted(&self) -> bool {
        match &self.owner {
            Some(Owner::Fan(state, _)) => !state.is_done(),
            // Its fan tells when it has enough; see `Errands::give_up`.
            Some(Owner::Errand(..)) => true,
            None => false,
        }
    }

    fn fill(mut self, outcome: Outcome) {
        self.end(outcome);
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.end(Err(CallError::Disconnected));
    }
}
