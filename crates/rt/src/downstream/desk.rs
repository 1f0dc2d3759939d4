//! Where the handlers of a thread leave their calls.

use super::TierConfig;
use super::away::Away;
use super::counts::Tallies;
use super::notes::Notes;
use super::part::Part;
use super::post::Post;
use super::room::Room;
use crate::client::Order;
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use tailwater_core::threads::Completion;

/// One thread's. Nothing of it is borrowed while foreign code runs.
pub(crate) struct Desk {
    tiers: Vec<Named>,
    /// What waits for the calls of fans that are made from now on.
    completion: Cell<Completion>,
    /// Fans whose calls the crew makes, if the server has one.
    away: Option<Away>,
    /// Calls that the thread has not taken yet, by shard.
    orders: RefCell<Vec<Vec<Order<Part>>>>,
    /// How many these are.
    ordered: Cell<usize>,
    /// What fans leave for the thread.
    notes: Rc<Notes>,
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
    /// Bytes that the answers of one fan may have.
    pub(super) answers_max: usize,
    pub(super) tallies: Arc<Tallies>,
}

impl Desk {
    pub(crate) fn new(tiers: &[TierConfig], post: Option<Post>) -> Self {
        let mut first = 0;
        let named = |tier: &TierConfig| {
            let shards = tier.shards().len();
            first += shards;
            let (room, answers_max) = (Rc::new(tier.room()), tier.most_of_answers());
            let (name, tallies) = (tier.name().to_owned(), tier.tallies().clone());
            Named { name, first: first - shards, shards, room, answers_max, tallies }
        };
        let tiers = tiers.iter().map(named).collect();
        Self {
            tiers,
            completion: Cell::default(),
            away: post.map(Away::new),
            orders: RefCell::new((0..first).map(|_| Vec::new()).collect()),
            ordered: Cell::new(0),
            notes: Rc::default(),
            troubles: RefCell::new(vec![None; first]),
        }
    }

    pub(super) fn set_completion(&self, completion: Completion) {
        self.completion.set(completion);
    }

    pub(super) const fn completion(&self) -> Completion {
        self.completion.get()
    }

    pub(super) const fn away(&self) -> Option<&Away> {
        self.away.as_ref()
    }

    pub(super) const fn notes(&self) -> &Rc<Notes> {
        &self.notes
    }

    /// The tier of this name.
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

    /// Whether this shard is not reached.
    pub(super) fn has_trouble(&self, shard: usize) -> bool {
        self.troubles.borrow()[shard].is_some()
    }

    pub(super) fn order(&self, shard: usize, order: Order<Part>) {
        self.orders.borrow_mut()[shard].push(order);
        self.ordered.set(self.ordered.get() + 1);
    }

    /// Nothing is left for the thread to take.
    pub(super) fn is_empty(&self) -> bool {
        self.ordered.get() == 0 && self.notes.is_empty()
    }

    /// How many calls are left for the thread.
    pub(super) const fn ordered(&self) -> usize {
        self.ordered.get()
    }

    /// Takes the calls to one shard, and leaves an empty list for the next. They stay where they lie: there may be
    /// hundreds in a turn, and to move them cost more than to encode them.
    pub(super) fn take_orders(&self, shard: usize, empty: &mut Vec<Order<Part>>) {
        debug_assert!(empty.is_empty(), "what is in it would be sent again");
        std::mem::swap(&mut self.orders.borrow_mut()[shard], empty);
        self.ordered.set(self.ordered.get() - empty.len());
    }

    /// Takes the list back, empty, for the next calls to the shard. Unless some have come meanwhile, one list is enough
    /// for both ends: with a thousand shards the second was a twentieth of their memory.
    pub(super) fn return_list(&self, shard: usize, list: &mut Vec<Order<Part>>) {
        let present = &mut self.orders.borrow_mut()[shard];
        if present.capacity() == 0 {
            std::mem::swap(present, list);
        }
    }

    /// Takes all calls, which the thread will not make.
    pub(super) fn take_all_orders(&self) -> Vec<Order<Part>> {
        self.ordered.set(0);
        self.orders.borrow_mut().iter_mut().flat_map(std::mem::take).collect()
    }
}
