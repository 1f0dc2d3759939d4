//! Where handlers of any thread leave questions for the one that has the connections.

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::mpsc::{Receiver, Sender, channel};

/// Most questions that are under way; a further one is refused as of a full queue.
const QUESTIONS_MAX: usize = 1 << 16;

/// Questions on their way, and the bell that wakes the thread.
#[derive(Debug)]
pub(super) struct Desk<Q> {
    questions: Sender<Q>,
    /// Left here or under way.
    count: AtomicUsize,
    bell: OwnedFd,
    /// The bell was rung, and the thread has not looked since.
    is_rung: AtomicBool,
    is_closed: AtomicBool,
}

impl<Q> Desk<Q> {
    pub(super) fn new() -> Result<(Self, Receiver<Q>), Errno> {
        let bell = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        let (questions, taken) = channel();
        let [is_rung, is_closed] = [(); 2].map(|()| AtomicBool::new(false));
        Ok((Self { questions, count: AtomicUsize::new(0), bell, is_rung, is_closed }, taken))
    }

    /// Gives it back where there is no room, or no thread any more.
    pub(super) fn leave(&self, question: Q) -> Result<(), Q> {
        // Only a bound: nothing else is read because of it.
        if self.count.fetch_add(1, Relaxed) >= QUESTIONS_MAX {
            self.count.fetch_sub(1, Relaxed);
            return Err(question);
        }
        self.questions.send(question).map_err(|error| error.0)?;
        // Behind the question: one that finds the bell rung is seen by the look that hushes it.
        if !self.is_rung.swap(true, SeqCst) {
            self.ring();
        }
        Ok(())
    }

    /// So many questions have ended.
    pub(super) fn on_ended(&self, count: usize) {
        self.count.fetch_sub(count, Relaxed);
    }

    /// Before the thread looks for questions: what is left later rings again.
    pub(super) fn hush(&self) {
        // Nothing to read is as good.
        let _ = rustix::io::read(&self.bell, &mut [0_u8; 8]);
        self.is_rung.store(false, SeqCst);
    }

    pub(super) fn close(&self) {
        self.is_closed.store(true, SeqCst);
        self.ring();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(SeqCst)
    }

    fn ring(&self) {
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }
}

impl<Q> AsFd for Desk<Q> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}
