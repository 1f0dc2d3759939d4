//! A consumer's sleep: who wakes it, and whether it lies down (steps S1 to S3 of `board.rs`).

use super::board::Board;
use crate::clock;
use crate::primitive::{self, Thread};
use std::sync::Arc;
use std::task::{Wake, Waker};
use tailwater_core::{Instant, caught};

pub(super) struct Sleeper {
    consumer: usize,
    lies: bool,
    /// What the board has for this consumer.
    registered: Option<Waker>,
    /// Wakes the thread that last waited, so that it is made once.
    thread: Option<(Arc<Unpark>, Waker)>,
}

/// Ends the sleep of a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl Sleeper {
    pub(super) const fn new(consumer: usize) -> Self {
        Self { consumer, lies: false, registered: None, thread: None }
    }

    #[inline]
    pub(super) const fn lies(&self) -> bool {
        self.lies
    }

    /// S1, and the look of S2: true if there is nothing, and so the sleep may begin.
    pub(super) fn lie_down(&mut self, board: &Board, waker: &Waker) -> bool {
        if !self.registered.as_ref().is_some_and(|known| known.will_wake(waker)) {
            // Cloned first, and dropped last without its panic: it is foreign code, and both must know the same one.
            let (known, for_board) = (waker.clone(), waker.clone());
            board.register(self.consumer, Some(for_board));
            let old = self.registered.replace(known);
            let _ = caught(|| drop(old));
        }
        self.lies = true;
        board.lie_down(self.consumer);
        board.is_silent()
    }

    /// S3. True if a producer woke it or is about to.
    pub(super) fn get_up(&mut self, board: &Board) -> bool {
        self.lies = false;
        board.get_up(self.consumer)
    }

    /// Lies down with the calling thread, and sleeps unless something is ready. True once it is past `until`.
    pub(super) fn park(&mut self, board: &Board, until: Option<Instant>) -> bool {
        self.lies = true;
        if let Some(over) = board.sleep_across(until) {
            return over;
        }
        let waker = self.waker_of_this_thread();
        if self.lie_down(board, &waker) {
            return primitive::park(until);
        }
        until.is_some_and(|until| clock::now() >= until)
    }

    /// Ends what others keep for this consumer.
    pub(super) fn leave(&mut self, board: &Board) {
        if let Some(known) = self.registered.take() {
            board.register(self.consumer, None);
            let _ = caught(|| drop(known));
        }
    }

    fn waker_of_this_thread(&mut self) -> Waker {
        let here = primitive::current();
        if let Some((thread, waker)) = &self.thread
            && thread.0.id() == here.id()
        {
            return waker.clone();
        }
        let thread = Arc::new(Unpark(here));
        let waker = Waker::from(thread.clone());
        self.thread = Some((thread, waker.clone()));
        waker
    }
}
