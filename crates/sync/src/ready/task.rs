//! A consumer that is a task: waiting as a future, on any executor.

use super::{QueueId, Waiter};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Waits until a queue is ready. May be dropped at any time; nothing is lost by it.
#[derive(Debug)]
#[must_use = "it does nothing unless polled"]
pub struct Ready<'a> {
    waiter: &'a mut Waiter,
}

impl Waiter {
    /// Waits until a queue is ready, as a future.
    ///
    /// ```
    /// # use tailwater_sync::ready::{Waiter, QueueId};
    /// async fn serve(mut waiter: Waiter, visit: impl Fn(QueueId)) {
    ///     loop {
    ///         visit(waiter.ready().await);
    ///     }
    /// }
    /// ```
    pub const fn ready(&mut self) -> Ready<'_> {
        Ready { waiter: self }
    }

    /// [`Waiter::ready`] for hand-written futures and streams: the task is woken once a queue is ready. One that does not
    /// poll again calls [`Waiter::disarm`], or the ring that woke it wakes no other consumer.
    pub fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<QueueId> {
        loop {
            if let Some(queue) = self.take() {
                return Poll::Ready(queue);
            }
            if self.lie_down(context.waker()) {
                return Poll::Pending;
            }
        }
    }
}

impl Future for Ready<'_> {
    type Output = QueueId;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<QueueId> {
        self.waiter.poll_ready(context)
    }
}

impl Drop for Ready<'_> {
    fn drop(&mut self) {
        self.waiter.get_up();
    }
}
