//! A member's calls for the handlers of other threads.

use super::crew::{Cargo, LegKey, WayBack};
use super::desk::Desk;
use super::part::{Owner, Part};
use super::room::Lent;
use super::state::Outcome;
use crate::client::{CallError, Order};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::{Rc, Weak};
use tailwater_core::Instant;

/// The legs that a member has begun.
pub(crate) struct Errands {
    desk: Rc<Desk>,
    /// Those that have not ended.
    board: Rc<Board>,
}

#[derive(Default)]
struct Board {
    errands: RefCell<HashMap<LegKey, Rc<Errand>>>,
    /// Those beside which the member takes no other.
    alone: Cell<usize>,
}

/// One leg, and which of its calls have not ended.
pub(super) struct Errand {
    key: LegKey,
    way_back: WayBack,
    calls: RefCell<Vec<Call>>,
    /// Calls that have not ended.
    open: Cell<usize>,
    is_alone: bool,
    board: Weak<Board>,
}

struct Call {
    /// Its place in its fan.
    place: usize,
    is_open: bool,
    /// The shard and the thread's token, once it is under way.
    taken: Option<(usize, u64)>,
}

impl Errands {
    pub(super) fn new(desk: Rc<Desk>) -> Self {
        Self { desk, board: Rc::default() }
    }

    /// Makes a leg's calls; they leave in the next turn. Those of a leg that has waited beyond its deadline are not made.
    pub(crate) fn begin(&self, key: LegKey, cargo: Cargo, time: Instant) {
        let Cargo { calls, terms, way_back, is_alone } = cargo;
        let open = |(place, ..): &(usize, _, _)| Call { place: *place, is_open: true, taken: None };
        let open = calls.iter().map(open);
        let errand = Rc::new(Errand {
            key,
            way_back,
            open: Cell::new(calls.len()),
            calls: RefCell::new(open.collect()),
            is_alone,
            board: Rc::downgrade(&self.board),
        });
        self.board.add(key, errand.clone());
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
        let found = self.board.errands.borrow().get(&key).cloned();
        let Some(errand) = found else { return };
        for call in &mut *errand.calls.borrow_mut() {
            if let (true, Some((shard, token))) = (call.is_open, call.taken) {
                self.desk.give_up(shard, token);
            }
            call.is_open = false;
        }
        errand.leave();
    }

    /// No leg has its member alone. Legs of a responder do not, though the model has changed since.
    pub(crate) fn has_room(&self) -> bool {
        self.board.alone.get() == 0
    }
}

impl Board {
    fn add(&self, key: LegKey, errand: Rc<Errand>) {
        self.alone.set(self.alone.get() + usize::from(errand.is_alone));
        self.errands.borrow_mut().insert(key, errand);
    }

    /// It may have been removed before.
    fn remove(&self, key: LegKey) {
        if let Some(errand) = self.errands.borrow_mut().remove(&key) {
            self.alone.set(self.alone.get() - usize::from(errand.is_alone));
        }
    }
}

impl Errand {
    /// See [`super::state::State::take_on`].
    pub(super) fn take_on(&self, place: usize, shard: usize, token: u64) -> bool {
        let mut calls = self.calls.borrow_mut();
        let Some(call) = calls.get_mut(place).filter(|call| call.is_open) else { return false };
        call.taken = Some((shard, token));
        true
    }

    /// One call has ended, and its room goes back; nothing more if nobody awaits it any more.
    pub(super) fn end(&self, place: usize, outcome: Outcome, lent: Lent) {
        let in_fan = {
            let mut calls = self.calls.borrow_mut();
            let Some(call) = calls.get_mut(place).filter(|call| call.is_open) else { return };
            call.is_open = false;
            call.place
        };
        self.open.set(self.open.get() - 1);
        if self.open.get() == 0 {
            self.leave();
        }
        self.way_back.tell(in_fan, outcome, lent);
    }

    /// Its member has done with it.
    fn leave(&self) {
        if let Some(board) = self.board.upgrade() {
            board.remove(self.key);
        }
    }
}
