//! The fans of a thread whose calls the crew makes, by what it calls them.

use super::State;
use crate::downstream::home::FanKey;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use tailwater_core::Instant;

#[derive(Default)]
pub(in crate::downstream) struct AwayFans {
    /// Those whose calls have not all ended: as many as there is room for calls, at most.
    open: RefCell<HashMap<FanKey, Rc<State>>>,
    /// Those of them whose deadline has not passed, by that.
    due: RefCell<BTreeSet<FanKey>>,
}

impl AwayFans {
    pub(in crate::downstream) fn add(&self, key: FanKey, state: Rc<State>) {
        self.open.borrow_mut().insert(key, state);
        self.due.borrow_mut().insert(key);
    }

    /// `None` if it has ended or was given up.
    pub(in crate::downstream) fn find(&self, key: FanKey) -> Option<Rc<State>> {
        self.open.borrow().get(&key).cloned()
    }

    pub(in crate::downstream) fn forget(&self, key: FanKey) {
        self.due.borrow_mut().remove(&key);
        // Dropped behind the borrow: what it holds may be foreign.
        let state = self.open.borrow_mut().remove(&key);
        drop(state);
    }

    /// All of them, which will not be awaited.
    pub(in crate::downstream) fn take_all(&self) -> HashMap<FanKey, Rc<State>> {
        self.open.take()
    }

    /// One whose deadline has passed, once each.
    pub(in crate::downstream) fn next_overdue(&self, time: Instant) -> Option<FanKey> {
        let mut due = self.due.borrow_mut();
        due.first().filter(|(deadline, _)| *deadline <= time)?;
        due.pop_first()
    }

    /// When the first is overdue.
    pub(in crate::downstream) fn next_due(&self) -> Option<Instant> {
        self.due.borrow().first().map(|&(deadline, _)| deadline)
    }
}
