//! One leg that a member has begun, until its last call has ended.

use super::call::Outcome;
use super::crew::{LegKey, WayBack};
use super::room::Lent;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::{Rc, Weak};

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

impl Errand {
    /// A leg with calls at these places of its fan. It is on the board until it ends.
    pub(super) fn begin(
        board: &Rc<Board>,
        key: LegKey,
        way_back: WayBack,
        places: impl ExactSizeIterator<Item = usize>,
        is_alone: bool,
    ) -> Rc<Self> {
        let open = Cell::new(places.len());
        let calls = places.map(|place| Call { place, is_open: true, taken: None }).collect();
        let (calls, to_leave) = (RefCell::new(calls), Rc::downgrade(board));
        let errand = Rc::new(Self { key, way_back, calls, open, is_alone, board: to_leave });
        board.add(key, errand.clone());
        errand
    }

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

    /// It is not awaited any more. Tells `taken` the shard and the token of each call that is under way.
    pub(super) fn give_up(&self, mut taken: impl FnMut(usize, u64)) {
        for call in &mut *self.calls.borrow_mut() {
            if let (true, Some((shard, token))) = (call.is_open, call.taken) {
                taken(shard, token);
            }
            call.is_open = false;
        }
        self.leave();
    }

    /// Its member has done with it.
    fn leave(&self) {
        if let Some(board) = self.board.upgrade() {
            board.remove(self.key);
        }
    }
}

/// The legs of one member that have not ended.
#[derive(Default)]
pub(super) struct Board {
    errands: RefCell<HashMap<LegKey, Rc<Errand>>>,
    /// Those beside which the member takes no other.
    alone: Cell<usize>,
}

impl Board {
    pub(super) fn find(&self, key: LegKey) -> Option<Rc<Errand>> {
        self.errands.borrow().get(&key).cloned()
    }

    /// No leg has its member alone.
    pub(super) fn has_room(&self) -> bool {
        self.alone.get() == 0
    }

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
