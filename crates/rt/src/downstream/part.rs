//! One call that a thread makes for a fan: its own, or one of another thread.

use super::errands::Errand;
use super::room::Held;
use super::state::{Outcome, State};
use crate::client::{CallError, Fill, NewCall};
use bytes::Bytes;
use std::rc::Rc;
use tailwater_core::{Instant, MethodId};

/// A call to be made. The shard is counted over all tiers.
pub(super) struct Planned {
    pub(super) shard: usize,
    pub(super) method: MethodId,
    pub(super) payload: Bytes,
}

/// What all calls of a fan have in common.
#[derive(Clone, Copy)]
pub(super) struct Terms {
    pub(super) deadline: Instant,
    pub(super) priority: u8,
    pub(super) tenant: u32,
    /// A call waits for no connection after one was lost.
    pub(super) reached_only: bool,
}

impl Terms {
    pub(super) fn of(self, planned: Planned) -> NewCall {
        let Self { deadline, priority, tenant, reached_only: _ } = self;
        let Planned { method, payload, .. } = planned;
        NewCall { method, payload, deadline: Some(deadline), priority, tenant }
    }
}

/// Who hears of a call's end.
pub(super) enum Owner {
    /// A fan of this thread.
    Fan(Rc<State>),
    /// One of another thread.
    Errand(Rc<Errand>),
}

impl Owner {
    fn end(&self, place: usize, outcome: Outcome) {
        match self {
            Self::Fan(state) => state.end(place, outcome),
            Self::Errand(errand) => errand.end(place, outcome),
        }
    }
}

/// One call under way, with the duty to end it: dropped without an end it was lost.
pub(crate) struct Part {
    pub(super) owner: Owner,
    /// Which of its owner's calls it is.
    pub(super) place: usize,
    pub(super) shard: usize,
    /// As its terms say.
    pub(super) reached_only: bool,
    /// Given back with it.
    pub(super) _held: Held,
}

impl Fill for Part {
    fn take_on(&self, token: u64) -> bool {
        match &self.owner {
            Owner::Fan(state) => state.take_on(self.place, self.shard, token),
            Owner::Errand(errand) => errand.take_on(self.place, self.shard, token),
        }
    }

    fn awaits_connection(&self) -> bool {
        !self.reached_only
    }

    fn fill(self, outcome: Outcome) {
        self.owner.end(self.place, outcome);
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // Nothing happens to a call that has ended.
        self.owner.end(self.place, Err(CallError::Disconnected));
    }
}
