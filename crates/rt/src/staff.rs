//! Threads that take items for others: how many of them do so, how each is reached, and how one sleeps.

use crate::bell::{Bell, Doorbell};
use crate::primitive::{AtomicBool, AtomicUsize, Queue};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

/// `C` names an item that a thread has, and that is to be cancelled there. The items wait in a queue of their own.
pub(crate) struct Staff<C> {
    seats: Vec<Seat<C>>,
    /// Threads that take items: the first so many. The others end what they have.
    active: AtomicUsize,
    stop: AtomicBool,
}

/// What one thread is reached by.
struct Seat<C> {
    doorbell: Arc<Doorbell>,
    /// Rung for an item, if the thread sleeps and has room for one.
    taker: Doorbell,
    /// Items that are to be cancelled: as many as the thread has, at most.
    cancels: Queue<C>,
}

impl<C> Staff<C> {
    /// A thread for each bell, which ends its sleep; all of them take items.
    pub(crate) fn new<B: Bell + Clone + 'static>(bells: impl IntoIterator<Item = B>) -> Self {
        let seat = |bell: B| Seat {
            doorbell: Arc::new(Doorbell::new(Box::new(bell.clone()))),
            taker: Doorbell::new(Box::new(bell)),
            cancels: Queue::new(),
        };
        let seats: Vec<_> = bells.into_iter().map(seat).collect();
        Self { active: AtomicUsize::new(seats.len()), seats, stop: AtomicBool::new(false) }
    }

    /// How many threads there are, whether or not they take items.
    pub(crate) const fn threads(&self) -> usize {
        self.seats.len()
    }

    /// What wakes a thread, whatever for.
    pub(crate) fn doorbell(&self, thread: usize) -> Arc<Doorbell> {
        self.seats[thread].doorbell.clone()
    }

    /// From now on so many threads take items; all there are at most. How many did before. For one caller at a time,
    /// who calls [`Staff::wake`] afterwards.
    pub(crate) fn resize(&self, threads: usize) -> usize {
        // Before the doorbells are looked at: the publishing of rule 2 in `bell.rs`.
        self.active.swap(threads.min(self.seats.len()), SeqCst)
    }

    /// How many threads take items.
    pub(crate) fn active(&self) -> usize {
        // Pairs with `resize`; a sleeper's look is in `is_active`.
        self.active.load(SeqCst)
    }

    /// Whether a thread takes items.
    pub(crate) fn is_active(&self, thread: usize) -> bool {
        // A sleeper asks after it lay down: the look for work of rule 1 in `bell.rs`.
        thread < self.active()
    }

    /// All look around: something has changed.
    pub(crate) fn wake(&self) {
        for seat in &self.seats {
            seat.doorbell.notify();
        }
    }

    /// An item was left in the queue. One sleeper is enough for it, if it has room; busy threads look at the queue by
    /// themselves.
    pub(crate) fn rouse(&self) {
        let _ = self.seats.iter().any(|seat| seat.taker.notify());
    }

    /// Tells a thread to end an item early.
    pub(crate) fn cancel(&self, thread: u32, item: C) {
        let seat = &self.seats[thread as usize];
        seat.cancels.push(item);
        seat.doorbell.notify();
    }

    /// The next item that a thread is to end early.
    pub(crate) fn next_cancel(&self, thread: usize) -> Option<C> {
        self.seats[thread].cancels.pop()
    }

    /// Whether a thread is to end an item early.
    pub(crate) fn has_cancels(&self, thread: usize) -> bool {
        !self.seats[thread].cancels.is_empty()
    }

    pub(crate) fn is_stopped(&self) -> bool {
        // A sleeper asks after it lay down: the look for work of rule 1 in `bell.rs`.
        self.stop.load(SeqCst)
    }

    pub(crate) fn stop(&self) {
        // Before the doorbells are looked at: the publishing of rule 2 in `bell.rs`.
        self.stop.store(true, SeqCst);
        self.wake();
    }

    /// A thread sleeps until it is woken. It has room for an item, or has not; `has_item` looks for one once more. `sleep`
    /// looks once more for what the thread has of its own. True if it was rung for an item that no other thread was rung
    /// for. See [`Doorbell`] for why nothing is missed.
    pub(crate) fn rest(
        &self,
        thread: usize,
        has_room: bool,
        has_item: impl FnOnce() -> bool,
        sleep: impl FnOnce(),
    ) -> bool {
        let seat = &self.seats[thread];
        let is_active = self.is_active(thread);
        let takes = has_room && is_active;
        if takes {
            seat.taker.lie_down();
        }
        seat.doorbell.lie_down();
        let finds = takes && has_item();
        let called = self.has_cancels(thread) || self.is_stopped();
        let resized = self.is_active(thread) != is_active;
        if !finds && !called && !resized {
            sleep();
        }
        seat.doorbell.get_up();
        takes && seat.taker.get_up()
    }
}
