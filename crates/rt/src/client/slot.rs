//! Where the reactor leaves the answer to a call, and the caller takes it.

use super::answer::{Answer, CallError};
use super::callers::Fill;
use std::mem::replace;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use tailwater_core::caught;

type Outcome = Result<Answer, CallError>;

/// One call's. The lock is held for a few moves, never while a waker runs.
#[derive(Default)]
pub(super) struct Slot {
    state: Mutex<State>,
    filled: Condvar,
}

enum State {
    /// No answer yet. The reactor's token for the call, once it has taken it.
    Pending { waker: Option<Waker>, token: Option<u64> },
    /// The answer is there.
    Filled(Outcome),
    /// The answer was taken, or is not wanted.
    Over,
}

impl Default for State {
    fn default() -> Self {
        Self::Pending { waker: None, token: None }
    }
}

impl Slot {
    /// The answer, unless it is not there yet; then the waker is rung once it is.
    pub(super) fn poll(&self, context: &Context<'_>) -> Poll<Outcome> {
        // Foreign code, which may panic: ahead of the lock, and of every change.
        let waker = Some(context.waker().clone());
        let mut state = self.lock();
        match replace(&mut *state, State::Over) {
            State::Filled(outcome) => Poll::Ready(outcome),
            State::Pending { waker: old, token } => {
                *state = State::Pending { waker, token };
                // A waker's end may drop a task, and with it this call's future.
                drop(state);
                drop(old);
                Poll::Pending
            }
            State::Over => {
                drop(state);
                panic!("a call was polled after it had given its answer");
            }
        }
    }

    pub(super) fn wait(&self) -> Outcome {
        let mut state = self.lock();
        while let State::Pending { .. } = *state {
            state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let before = replace(&mut *state, State::Over);
        drop(state);
        let State::Filled(outcome) = before else {
            panic!("a call was waited for after it had given its answer to a poll");
        };
        outcome
    }

    /// The caller wants no answer any more. The token, if the reactor has the call.
    pub(super) fn abandon(&self) -> Option<u64> {
        let mut state = self.lock();
        let before = replace(&mut *state, State::Over);
        // As in `poll`.
        drop(state);
        match before {
            State::Pending { token, .. } => token,
            State::Filled(_) | State::Over => None,
        }
    }

    /// The reactor takes the call under this token: false if its caller has given it up.
    fn take_on(&self, number: u64) -> bool {
        match &mut *self.lock() {
            State::Pending { token, .. } => {
                *token = Some(number);
                true
            }
            State::Filled(_) | State::Over => false,
        }
    }

    fn fill(&self, outcome: Outcome) {
        let mut state = self.lock();
        let State::Pending { waker, .. } = &mut *state else { return };
        let waker = waker.take();
        *state = State::Filled(outcome);
        drop(state);
        self.filled.notify_all();
        if let Some(waker) = waker {
            // Foreign code: if it panics, the other calls go on nevertheless.
            let _ = caught(|| waker.wake());
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The duty to fill a slot. Dropped without an answer, as when the reactor panics, it says `Disconnected`,
/// so that no caller waits for ever.
pub(super) struct Filler(Option<Arc<Slot>>);

impl Filler {
    pub(super) const fn new(slot: Arc<Slot>) -> Self {
        Self(Some(slot))
    }
}

impl Fill for Filler {
    fn take_on(&self, token: u64) -> bool {
        self.0.as_ref().is_some_and(|slot| slot.take_on(token))
    }

    fn fill(mut self, outcome: Outcome) {
        if let Some(slot) = self.0.take() {
            slot.fill(outcome);
        }
    }
}

impl Drop for Filler {
    fn drop(&mut self) {
        if let Some(slot) = self.0.take() {
            slot.fill(Err(CallError::Disconnected));
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_was_given_up_before_it_was_taken_is_not_taken() {
        let slot = Arc::new(Slot::default());
        assert_eq!(slot.abandon(), None, "the reactor does not know it");
        assert!(!Filler::new(slot).take_on(1));
    }

    #[test]
    fn only_a_call_without_an_answer_is_given_up() {
        let slot = Arc::new(Slot::default());
        let filler = Filler::new(slot.clone());
        assert!(filler.take_on(7));
        assert_eq!(slot.abandon(), Some(7));
        let slot = Arc::new(Slot::default());
        let filler = Filler::new(slot.clone());
        assert!(filler.take_on(8));
        filler.fill(Err(CallError::Expired));
        assert_eq!(slot.wait(), Err(CallError::Expired));
        assert_eq!(slot.abandon(), None);
    }

    /// Either would wait for ever for an answer that was taken.
    #[test]
    fn a_call_that_has_given_its_answer_is_neither_waited_for_nor_polled_again() {
        let slot = Arc::new(Slot::default());
        let context = Context::from_waker(Waker::noop());
        assert!(slot.poll(&context).is_pending());
        Filler::new(slot.clone()).fill(Err(CallError::Expired));
        assert_eq!(slot.poll(&context), Poll::Ready(Err(CallError::Expired)));
        assert!(caught(|| slot.wait()).is_err(), "it says so");
        assert!(caught(|| slot.poll(&context)).is_err(), "it says so");
        assert_eq!(slot.abandon(), None, "its future can be dropped nevertheless");
    }

    #[test]
    fn a_duty_that_is_dropped_is_a_lost_connection() {
        let slot = Arc::new(Slot::default());
        drop(Filler::new(slot.clone()));
        assert_eq!(slot.wait(), Err(CallError::Disconnected));
    }
}
