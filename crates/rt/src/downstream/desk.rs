//! Where the handlers of a thread leave their calls, and the thread leaves the answers.

use super::TierConfig;
use super::fan::{Part, Room};
use super::turns::Turns;
use crate::client::Order;
use std::cell::{Cell, OnceCell, RefCell};
use std::ops::Range;
use std::rc::{Rc, Weak};
use std::task::Waker;
use tailwater_core::caught;
use tailwater_core::threads::Completion;

/// One thread's. Nothing of it is borrowed while foreign code runs.
pub(crate) struct Desk {
    tiers: Vec<Named>,
    /// Who waits for the calls of fans that are made from now on.
    completion: Cell<Completion>,
    /// What takes the calls, which a fan may have to hold the thread for.
    turns: OnceCell<Weak<Turns>>,
    /// Calls that the thread has not taken yet, by shard.
    orders: RefCell<Vec<(usize, Order<Part>)>>,
    /// Calls that the thread has taken and nobody awaits, by shard and token.
    given_up: RefCell<Vec<(usize, u64)>>,
    /// Of handlers that have what they need.
    wakers: RefCell<Vec<Waker>>,
    /// Why servers are not reached, by shard.
    troubles: RefCell<Vec<Option<String>>>,
}

pub(super) struct Named {
    name: String,
    /// The first of its shards among those of all tiers.
    pub(super) first: usize,
    pub(super) shards: usize,
    /// What bounds the calls to it.
    pub(super) room: Rc<Room>,
}

impl Desk {
    pub(crate) fn new(tiers: &[TierConfig]) -> Self {
        let mut first = 0;
        let named = |tier: &TierConfig| {
            let shards = tier.shards().len();
            first += shards;
            let room = Rc::new(tier.room());
            Named { name: tier.name().to_owned(), first: first - shards, shards, room }
        };
        let tiers = tiers.iter().map(named).collect();
        Self {
            tiers,
            completion: Cell::default(),
            turns: OnceCell::new(),
            orders: RefCell::default(),
            given_up: RefCell::default(),
            wakers: RefCell::default(),
            troubles: RefCell::new(vec![None; first]),
        }
    }

    pub(super) fn set_completion(&self, completion: Completion) {
        self.completion.set(completion);
    }

    pub(super) const fn completion(&self) -> Completion {
        self.completion.get()
    }

    /// Said once, by the thread that has both.
    pub(super) fn has_turns_by(&self, turns: &Rc<Turns>) {
        let _ = self.turns.set(Rc::downgrade(turns));
    }

    /// `None` once the thread has ended.
    pub(super) fn turns(&self) -> Option<Rc<Turns>> {
        self.turns.get()?.upgrade()
    }

    pub(super) fn tier(&self, name: &str) -> Option<&Named> {
        self.tiers.iter().find(|tier| tier.name == name)
    }

    pub(super) fn set_trouble(&self, shard: usize, why: Option<String>) {
        self.troubles.borrow_mut()[shard] = why;
    }

    /// Why the first of these shards that is not reached is not.
    pub(super) fn trouble(&self, shards: Range<usize>) -> Option<String> {
        self.troubles.borrow()[shards].iter().flatten().next().cloned()
    }

    pub(super) fn order(&self, shard: usize, order: Order<Part>) {
        self.orders.borrow_mut().push((shard, order));
    }

    pub(super) fn give_up(&self, shard: usize, token: u64) {
        self.given_up.borrow_mut().push((shard, token));
    }

    pub(super) fn will_wake(&self, waker: Waker) {
        self.wakers.borrow_mut().push(waker);
    }

    /// Nothing is left for the loop to take.
    pub(super) fn is_empty(&self) -> bool {
        self.orders.borrow().is_empty() && self.given_up.borrow().is_empty()
    }

    pub(super) fn take_orders(&self) -> Vec<(usize, Order<Part>)> {
        self.orders.take()
    }

    pub(super) fn take_given_up(&self) -> Vec<(usize, u64)> {
        self.given_up.take()
    }

    /// Wakes the handlers that have what they need.
    pub(super) fn wake(&self) {
        for waker in self.wakers.take() {
            // Foreign code, if a handler polls its fan by an executor of its own.
            let _ = caught(|| waker.wake());
        }
    }
}
