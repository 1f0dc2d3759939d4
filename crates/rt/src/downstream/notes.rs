//! What the fans of a thread leave for it until its next turn.

use super::call::Outcome;
use std::cell::RefCell;
use std::task::Waker;
use tailwater_core::caught;

/// What hears of the outcomes of calls that nobody awaits.
pub(super) type Then = Box<dyn FnOnce(Vec<Outcome>)>;

/// One thread's. Nothing of it is borrowed while foreign code runs.
#[derive(Default)]
pub(super) struct Notes {
    /// Calls that the thread has taken and nobody awaits, by shard and token.
    given_up: RefCell<Vec<(usize, u64)>>,
    /// Of handlers that have what they need.
    wakers: RefCell<Vec<Waker>>,
    /// Outcomes that no handler awaits, and what hears of them.
    told: RefCell<Vec<(Then, Vec<Outcome>)>>,
}

impl Notes {
    pub(super) fn give_up(&self, shard: usize, token: u64) {
        self.given_up.borrow_mut().push((shard, token));
    }

    pub(super) fn will_wake(&self, waker: Waker) {
        self.wakers.borrow_mut().push(waker);
    }

    pub(super) fn will_tell(&self, then: Then, outcomes: Vec<Outcome>) {
        self.told.borrow_mut().push((then, outcomes));
    }

    /// Nothing is there for which the thread needs a turn. Wakers come of a turn, which ends with them.
    pub(super) fn is_empty(&self) -> bool {
        self.given_up.borrow().is_empty() && self.told.borrow().is_empty()
    }

    pub(super) fn take_given_up(&self) -> Vec<(usize, u64)> {
        self.given_up.take()
    }

    /// Wakes the handlers that have what they need, and tells outcomes that none awaits.
    pub(super) fn wake(&self) {
        let mut wakers = self.wakers.take();
        for waker in wakers.drain(..) {
            // Foreign code, if a handler polls its fan by an executor of its own.
            let _ = caught(|| waker.wake());
        }
        // The memory is used again, unless that code has brought more.
        let mut next = self.wakers.borrow_mut();
        if next.is_empty() {
            *next = wakers;
        }
        drop(next);
        // Foreign code, too; what it leaves here is told in the next turn.
        for (then, outcomes) in self.told.take() {
            let _ = caught(|| then(outcomes));
        }
    }
}
