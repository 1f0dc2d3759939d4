//! Where callers on any thread hand calls to the reactor's.

use super::answer::CallError;
use super::callers::Fill as _;
use super::slot::Filler;
use crate::bell::{Bell as _, Doorbell};
use crate::poll::{EventBell, Poller};
use crossbeam_queue::SegQueue;
use std::io;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Mutex, PoisonError};

/// Most calls that were made and that the reactor has not taken yet; one more ends at once with
/// [`CallError::QueueFull`]. The reactor takes all there are at every turn, so that this bounds what
/// callers may be ahead of it.
pub(super) const CALLS_MAX: usize = 1 << 16;

/// The poller's key for the bell.
const BELL: u64 = u64::MAX;

/// A call of a [`Client`](super::Client).
pub(super) type Order = super::exchange::Order<Filler>;

/// Calls on their way from callers to the reactor.
pub(super) struct Desk {
    orders: SegQueue<Order>,
    /// Orders in the queue; a caller counts itself before it queues.
    count: AtomicUsize,
    /// Calls that the reactor has and that their callers have given up: at most one entry for each.
    given_up: SegQueue<u64>,
    doorbell: Doorbell,
    bell: EventBell,
    /// The client wants the reactor to end, or it has ended, be it by a panic.
    is_closed: AtomicBool,
    /// Why a server is not reached, for people.
    trouble: Mutex<Option<String>>,
}

impl Desk {
    /// A desk whose bell this poller hears.
    pub(super) fn new(poller: &Poller) -> io::Result<Self> {
        let bell = EventBell::new()?;
        poller.add_bell(&bell, BELL)?;
        Ok(Self {
            orders: SegQueue::new(),
            count: AtomicUsize::new(0),
            given_up: SegQueue::new(),
            doorbell: Doorbell::new(Box::new(bell.clone())),
            bell,
            is_closed: AtomicBool::new(false),
            trouble: Mutex::default(),
        })
    }

    pub(super) fn order(&self, order: Order) {
        // Only a bound: nothing else is read because of it.
        if self.count.fetch_add(1, Relaxed) >= CALLS_MAX {
            self.count.fetch_sub(1, Relaxed);
            return order.filler.fill(Err(CallError::QueueFull));
        }
        self.orders.push(order);
        self.doorbell.notify();
        if self.is_closed() {
            self.clear();
        }
    }

    /// The caller of a call that the reactor has wants no answer any more.
    pub(super) fn give_up(&self, token: u64) {
        self.given_up.push(token);
        self.doorbell.notify();
    }

    pub(super) fn next_order(&self) -> Option<Order> {
        let order = self.orders.pop()?;
        // Relaxed: as where it is counted.
        self.count.fetch_sub(1, Relaxed);
        Some(order)
    }

    pub(super) fn next_given_up(&self) -> Option<u64> {
        self.given_up.pop()
    }

    /// Why a server is not reached from now on; `None`: all are, as far as is known.
    pub(super) fn set_trouble(&self, why: Option<String>) {
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }

    pub(super) fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether the poller means the bell, which only ends a sleep.
    pub(super) const fn is_bell(key: u64) -> bool {
        key == BELL
    }

    /// Sleeps as `sleep` does, unless there is something to do: it is asked for once the desk rings.
    pub(super) fn rest(&self, sleep: impl FnOnce()) {
        self.doorbell.lie_down();
        if self.orders.is_empty() && self.given_up.is_empty() && !self.is_closed() {
            sleep();
        }
        self.doorbell.get_up();
    }

    pub(super) fn is_closed(&self) -> bool {
        // Pairs with the store in `close`: a caller that has queued an order and does not see the store is
        // seen by `clear` behind it.
        self.is_closed.load(SeqCst)
    }

    /// No order is taken any more; those that wait end, and so does the reactor's sleep.
    pub(super) fn close(&self) {
        // Pairs with the load in `is_closed`, which says how.
        self.is_closed.store(true, SeqCst);
        self.bell.ring();
    }

    /// Ends the orders of a desk that is closed: their fillers say why.
    pub(super) fn clear(&self) {
        while let Some(order) = self.next_order() {
            drop(order);
        }
    }
}
