//! A consumer's end: taking what is ready, and waiting for it.

use super::local::Local;
use super::order::Order;
use super::sleeper::Sleeper;
use super::stats::{EVERY, Stats};
use super::view::View;
use super::{Builder, QueueId, Shared};
use crate::clock;
use std::fmt;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;
use tailwater_core::Instant;

/// Looks between two times that a spinning consumer reads the clock.
const LOOKS: u32 = 32;

/// A consumer of a ready set. What it has taken and not handed out goes back to the set when it is dropped.
pub struct Waiter {
    pub(super) shared: Arc<Shared>,
    pub(super) sleeper: Sleeper,
    local: Local,
    order: Order,
    index: usize,
    /// The set has no other consumer.
    alone: bool,
    spin: Duration,
    counts: Stats,
    /// For event loops; made when it is asked for.
    #[cfg(not(loom))]
    pub(super) event: Option<super::event_file::EventFile>,
}

impl Waiter {
    /// The consumer `index` of so many. The first turn is that of the queue `first`.
    pub(super) fn new(
        shared: Arc<Shared>,
        by: &Builder,
        (index, consumers): (usize, usize),
        first: usize,
    ) -> Self {
        Self {
            local: Local::new(&shared.board),
            sleeper: Sleeper::new(index),
            order: Order::new(&by.policy, first as u32),
            index,
            alone: consumers == 1,
            spin: by.spin,
            counts: Stats::default(),
            #[cfg(not(loom))]
            event: None,
            shared,
        }
    }

    /// Takes every queue as ready, whatever its bell says.
    #[cfg(any(test, not(loom)))]
    pub(super) fn take_all(&mut self) {
        let board = &self.shared.board;
        (0..board.words(0)).for_each(|index| self.local.add(index, board.all(index)));
    }

    /// What this consumer has counted so far.
    #[cfg(not(loom))]
    pub(super) fn stats(&self) -> Stats {
        Stats { wakes: self.shared.board.wakes(), ..self.counts }
    }

    /// A queue that is ready, by the policy; `None` if there is none. Never waits. Under [`super::VisitPolicy::Deficit`] it may
    /// go round all ready queues some 65 times until the debt of one is paid.
    #[inline]
    pub fn take(&mut self) -> Option<QueueId> {
        if self.sleeper.lies() {
            return self.take_on_waking();
        }
        self.choose()
    }

    /// The queue that was handed out is not empty: it is ready still. Without a ring, and without a wake-up
    /// of another consumer: the queue stays with this one.
    #[inline]
    pub fn again(&mut self, queue: QueueId) {
        assert!(queue.index() < self.shared.members.room(), "{queue} is not of this ready set");
        let (index, bit) = super::board::place(queue.index());
        self.local.add(index, bit);
        self.counts.kept += 1;
    }

    /// What the visit to this queue cost, in the unit of the policy's quanta. Each visit costs 1 beside it.
    /// Only [`super::VisitPolicy::Deficit`] charges.
    pub fn charge(&mut self, queue: QueueId, cost: u32) {
        assert!(queue.index() < self.shared.members.room(), "{queue} is not of this ready set");
        self.order.charge(queue.0, cost);
    }

    /// Spins until a queue is ready. For a thread with a core of its own.
    pub fn spin(&mut self) -> QueueId {
        loop {
            if let Some(queue) = self.take() {
                return queue;
            }
            std::hint::spin_loop();
        }
    }

    /// Waits until a queue is ready: spins for a while ([`Builder::spin`]), then sleeps.
    pub fn wait(&mut self) -> QueueId {
        loop {
            if let Some(queue) = self.wait_until(None) {
                return queue;
            }
        }
    }

    /// Waits until a queue is ready, at most so long. `None` if none is by then.
    pub fn wait_for(&mut self, at_most: Duration) -> Option<QueueId> {
        if let Some(queue) = self.take() {
            return Some(queue);
        }
        self.wait_until(Some(clock::now() + at_most))
    }

    fn wait_until(&mut self, until: Option<Instant>) -> Option<QueueId> {
        if let Some(queue) = self.look_on(until) {
            return Some(queue);
        }
        self.tell_sleep();
        loop {
            let over = self.sleeper.park(&self.shared.board, until);
            if let Some(queue) = self.take() {
                return Some(queue);
            }
            if over {
                return None;
            }
        }
    }

    /// Spins for as long as the set was built for.
    fn look_on(&mut self, until: Option<Instant>) -> Option<QueueId> {
        if let Some(queue) = self.take() {
            return Some(queue);
        }
        if self.spin.is_zero() {
            return None;
        }
        let end = clock::now() + self.spin;
        let end = until.map_or(end, |until| until.min(end));
        loop {
            for _ in 0..LOOKS {
                std::hint::spin_loop();
                if let Some(queue) = self.take() {
                    return Some(queue);
                }
            }
            if clock::now() >= end {
                return None;
            }
        }
    }

    /// Lies down, to be woken by this waker. True if the sleep may begin; otherwise something is ready.
    pub(super) fn lie_down(&mut self, waker: &Waker) -> bool {
        self.tell_sleep();
        self.local.is_empty() && self.sleeper.lie_down(&self.shared.board, waker)
    }

    /// Ends a sleep that [`Waiter::arm`] or [`Waiter::poll_ready`] prepared, without taking a queue. If a ring woke this
    /// consumer meanwhile, another one is woken in its place. Dropping the waiter does the same.
    pub fn disarm(&mut self) {
        self.get_up();
    }

    /// Ends a sleep without a look. What woke this consumer is passed on to another.
    pub(super) fn get_up(&mut self) {
        if self.sleeper.lies() && self.sleeper.get_up(&self.shared.board) {
            self.pass_on();
        }
    }

    #[cold]
    fn take_on_waking(&mut self) -> Option<QueueId> {
        // Each ring wakes at most one consumer, which looks after that: here. So a ring that found a sleeper is
        // never without a look, and there is nothing to pass on.
        self.sleeper.get_up(&self.shared.board);
        self.choose()
    }

    fn pass_on(&self) {
        let board = &self.shared.board;
        if !self.alone && !board.is_silent() {
            board.wake_one();
        }
    }

    #[inline]
    fn choose(&mut self) -> Option<QueueId> {
        if self.local.is_empty() && self.shared.board.is_silent() {
            return None;
        }
        let mut view = View {
            board: &self.shared.board,
            local: &mut self.local,
            alone: self.alone,
            taken: &mut self.counts.taken,
        };
        loop {
            let queue = self.order.choose(&mut view)?;
            // Another consumer may have been faster, and a removed queue's bell may have been left.
            if !view.claim(queue as usize) || !self.shared.members.has(queue as usize) {
                continue;
            }
            self.order.served(queue);
            self.counts.visits += 1;
            if self.counts.visits < EVERY || self.counts.visits.is_multiple_of(EVERY) {
                self.shared.told[self.index].tell(&self.counts);
            }
            return Some(QueueId(queue));
        }
    }

    fn tell_sleep(&mut self) {
        self.counts.sleeps += 1;
        self.shared.told[self.index].tell(&self.counts);
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.get_up();
        let board = &self.shared.board;
        self.sleeper.leave(board);
        for queue in self.local.drain() {
            board.ring(queue);
        }
        self.shared.told[self.index].tell(&self.counts);
    }
}

impl fmt::Debug for Waiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiter").field("index", &self.index).finish_non_exhaustive()
    }
}
