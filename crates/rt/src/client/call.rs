//! A call as its caller sees it: the future of an answer.

use super::Caller;
use super::answer::{Answer, CallError};
use super::desk::Desk;
use super::slot::Slot;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A call on its way. Dropping it gives the call up: one that has not been sent is taken back, and the
/// server is told to end one that was.
///
/// Once a poll was ready, neither a further poll nor [`CallFuture::wait`] has an answer: both panic, as futures may.
#[must_use = "a call that is dropped is given up"]
pub struct CallFuture {
    slot: Arc<Slot>,
    desk: Arc<Desk>,
}

impl CallFuture {
    pub(super) const fn new(slot: Arc<Slot>, desk: Arc<Desk>) -> Self {
        Self { slot, desk }
    }

    /// Blocks the thread until the answer is there. Not for handlers: they await it. In one nevertheless, a profiler has the
    /// time as the call's, and not as the request's own.
    ///
    /// # Errors
    /// Why there is no response.
    ///
    /// # Panics
    /// When a poll has been ready before: that had the answer.
    pub fn wait(self) -> Result<Answer, CallError> {
        Caller::present().pauses(|| self.slot.wait())
    }
}

impl Future for CallFuture {
    type Output = Result<Answer, CallError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.slot.poll(context)
    }
}

impl Drop for CallFuture {
    fn drop(&mut self) {
        if let Some(token) = self.slot.abandon() {
            self.desk.give_up(token);
        }
    }
}
