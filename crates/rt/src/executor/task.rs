//! A task in its slot: a future, what travels with it, and what is set around each of its polls.

use super::Meta;
use super::held;
use super::ready::SlotWaker;
use super::spares::Body;
use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tailwater_core::{Panicked, caught};
use tailwater_sync::budget;
use tailwater_sync::task::Watch;

pub(super) struct Task<F, M> {
    body: Body<F>,
    meta: M,
    watch: Watch,
    /// How long it has held its thread while it waited.
    held: Duration,
}

impl<F: Future, M: Meta> Task<F, M> {
    /// `held`: what making it has held the thread.
    pub(super) fn new(body: Body<F>, meta: M, held: Duration) -> Self {
        Self { body, meta, watch: Watch::new(), held }
    }

    /// `None` while it waits; its future is dropped when it does not. `waited` it has in the queue since
    /// it was woken.
    pub(super) fn poll(
        &mut self,
        waker: &Waker,
        wake: &Arc<SlotWaker>,
        waited: Duration,
    ) -> Option<Result<F::Output, Panicked>> {
        self.meta.works();
        let polled = self.poll_future(waker, wake, waited);
        self.meta.waits();
        polled
    }

    fn poll_future(
        &mut self,
        waker: &Waker,
        wake: &Arc<SlotWaker>,
        waited: Duration,
    ) -> Option<Result<F::Output, Panicked>> {
        let entered = self.meta.budget().map(budget::enter);
        if entered.is_some() && !waited.is_zero() {
            budget::deduct(waited);
        }
        let _watching = self.watch.enter(waker);
        let mut context = Context::from_waker(waker);
        let mut future = self.body.future()?;
        held::begin(self.held);
        let mut poll = || caught(|| future.as_mut().poll(&mut context));
        let mut polled = poll();
        if matches!(polled, Ok(Poll::Pending)) && self.watch.waits_in_vain(|| wake.clones()) {
            // It panics where it waits, in debug builds.
            polled = poll();
        }
        let output = match polled {
            Ok(Poll::Pending) => {
                self.held = held::end();
                wake.polled();
                return None;
            }
            Ok(Poll::Ready(output)) => Ok(output),
            Err(panicked) => Err(panicked),
        };
        // What its destructors wait for counts as well.
        self.body.clear();
        held::end();
        Some(output)
    }

    /// Drops the future as a poll would: what its destructors unlock or wait is this task's.
    pub(super) fn cancel(&mut self, waker: &Waker) {
        let _entered = self.meta.budget().map(budget::enter);
        let _watching = self.watch.enter(waker);
        held::begin(self.held);
        self.body.clear();
        held::end();
    }

    /// Once its future is dropped.
    pub(super) fn into_parts(self) -> (Body<F>, M) {
        (self.body, self.meta)
    }
}
