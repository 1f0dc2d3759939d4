//! A member's calls for the handlers of other threads.

use super::crew::{Cargo, LegKey};
use super::desk::Desk;
use super::errand::{Board, Errand};
use super::part::{Owner, Part};
use crate::client::{CallError, Order};
use std::rc::Rc;
use tailwater_core::Instant;

/// The legs that a member has begun.
pub(crate) struct Errands {
    desk: Rc<Desk>,
    /// Those that have not ended.
    board: Rc<Board>,
}

impl Errands {
    pub(super) fn new(desk: Rc<Desk>) -> Self {
        Self { desk, board: Rc::default() }
    }

    /// Makes a leg's calls; they leave in the next turn. Those of a leg that has waited beyond its deadline are not made.
    pub(crate) fn begin(&self, key: LegKey, cargo: Cargo, time: Instant) {
        let Cargo { calls, terms, way_back, is_alone } = cargo;
        let places = calls.iter().map(|(place, ..)| *place);
        let errand = Errand::begin(&self.board, key, way_back, places, is_alone);
        let is_late = terms.deadline <= time;
        for (place, (_, planned, lent)) in calls.into_iter().enumerate() {
            if is_late {
                drop(planned);
                errand.end(place, Err(CallError::Expired), lent);
            } else {
                let shard = planned.shard;
                let owner = Owner::Errand(errand.clone(), lent);
                let filler = Part::new(owner, place, shard, &terms);
                self.desk.order(shard, Order { call: terms.of(planned), filler });
            }
        }
    }

    /// A leg is not awaited any more; it may have ended.
    pub(crate) fn give_up(&self, key: LegKey) {
        if let Some(errand) = self.board.find(key) {
            errand.give_up(|shard, token| self.desk.notes().give_up(shard, token));
        }
    }

    /// No leg has its member alone. Legs of a responder do not, though the model has changed since.
    pub(crate) fn has_room(&self) -> bool {
        self.board.has_room()
    }
}
