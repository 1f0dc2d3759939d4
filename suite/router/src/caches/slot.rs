//! Where the answer to a question is left, and the handler takes it.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use tailwater_control::Reason;
use tailwater_load::application::Unanswered;

type Outcome = Result<(), Unanswered>;

/// One question's. The lock is held for a few moves, never while a waker runs.
#[derive(Debug, Default)]
pub(super) struct Slot {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    outcome: Option<Outcome>,
    waker: Option<Waker>,
}

/// The duty to fill a slot. Dropped without an answer it says that the connection was lost, so that nothing waits for ever.
#[derive(Debug)]
pub(super) struct Filler(Arc<Slot>);

/// What the handler awaits.
pub(super) struct Answer(Arc<Slot>);

impl Slot {
    pub(super) fn filler(self: &Arc<Self>) -> Filler {
        Filler(self.clone())
    }

    pub(super) const fn answer(self: Arc<Self>) -> Answer {
        Answer(self)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first outcome counts.
    fn fill(&self, outcome: Outcome) {
        let mut state = self.state();
        if state.outcome.is_some() {
            return;
        }
        state.outcome = Some(outcome);
        let waker = state.waker.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }
}

impl Filler {
    pub(super) fn fill(self, outcome: Outcome) {
        self.0.fill(outcome);
    }

    /// Whether the handler still waits.
    pub(super) fn is_wanted(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }
}

impl Drop for Filler {
    fn drop(&mut self) {
        self.0.fill(Err(Unanswered::Refused(Reason::Unavailable)));
    }
}

impl Future for Answer {
    type Output = Outcome;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome> {
        let mut state = self.0.state();
        if let Some(outcome) = state.outcome {
            return Poll::Ready(outcome);
        }
        let old = state.waker.replace(context.waker().clone());
        // A waker's end may drop a task, and with it this future.
        drop(state);
        drop(old);
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;

    #[test]
    fn the_first_outcome_counts_and_a_filler_that_is_dropped_says_so() {
        let mut context = Context::from_waker(Waker::noop());
        let slot = Arc::new(Slot::default());
        let filler = slot.filler();
        let mut answer = pin!(slot.answer());
        assert_eq!(answer.as_mut().poll(&mut context), Poll::Pending);
        assert!(filler.is_wanted());
        filler.fill(Ok(()));
        assert_eq!(answer.as_mut().poll(&mut context), Poll::Ready(Ok(())));
        let slot = Arc::new(Slot::default());
        drop(slot.filler());
        let lost = Err(Unanswered::Refused(Reason::Unavailable));
        assert_eq!(pin!(slot.answer()).poll(&mut context), Poll::Ready(lost));
    }
}
