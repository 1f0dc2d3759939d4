//! The futures that locks of tasks return.

use crate::Refused;
use crate::gate::{Acquire, Gate, Wait};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// Waits for as long as it takes and yields a guard.
#[must_use = "it does nothing unless polled"]
pub struct Waiting<'a, L, G> {
    acquire: Acquire<'a>,
    lock: &'a L,
    guard: fn(&'a L) -> G,
}

/// Waits no longer than the request's budget allows; yields a guard or [`Refused`].
#[must_use = "it does nothing unless polled"]
pub struct WaitingWithinBudget<'a, L, G>(Waiting<'a, L, G>);

impl<'a, L, G> Waiting<'a, L, G> {
    /// `guard` is called once the permits are there, and nowhere else.
    pub(super) fn new(lock: &'a L, gate: &'a Gate, need: usize, guard: fn(&'a L) -> G) -> Self {
        Self { acquire: Acquire::new(gate, need, Wait::ForEver), lock, guard }
    }

    pub(super) fn within_budget(
        lock: &'a L,
        gate: &'a Gate,
        need: usize,
        guard: fn(&'a L) -> G,
    ) -> WaitingWithinBudget<'a, L, G> {
        let acquire = Acquire::new(gate, need, Wait::WithinBudget);
        WaitingWithinBudget(Self { acquire, lock, guard })
    }

    fn poll_within(&mut self, context: &mut Context<'_>) -> Poll<Result<G, Refused>> {
        let acquired = ready!(Pin::new(&mut self.acquire).poll(context));
        Poll::Ready(acquired.map(|()| (self.guard)(self.lock)))
    }
}

impl<L, G> WaitingWithinBudget<'_, L, G> {
    /// What is left until it gives up, once it is queued: for a runtime that has timers of its own and
    /// polls it again then. `None` if it is not queued, or for ever.
    #[must_use]
    pub fn give_up_after(&self) -> Option<Duration> {
        self.0.acquire.give_up_after()
    }
}

impl<L, G> Future for Waiting<'_, L, G> {
    type Output = G;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<G> {
        self.poll_within(context).map(|acquired| match acquired {
            Ok(guard) => guard,
            Err(refused) => unreachable!("a wait for ever was {refused}"),
        })
    }
}

impl<L, G> Future for WaitingWithinBudget<'_, L, G> {
    type Output = Result<G, Refused>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll_within(context)
    }
}

impl<L, G> fmt::Debug for Waiting<'_, L, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Waiting").field(&self.acquire).finish()
    }
}

impl<L, G> fmt::Debug for WaitingWithinBudget<'_, L, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WaitingWithinBudget").field(&self.0.acquire).finish()
    }
}
