//! Where the answer to a question is left, and the handler takes it.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use tailwater_control::Reason;
use tailwater_load::application::Unanswered;

type Outcome<T> = Result<T, Unanswered>;

/// One question's. The lock is held for a few moves, never while a waker runs.
#[derive(Debug)]
pub(crate) struct Slot<T> {
    state: Mutex<State<T>>,
}

#[derive(Debug)]
struct State<T> {
    /// `None` again once it was taken.
    outcome: Option<Outcome<T>>,
    is_filled: bool,
    waker: Option<Waker>,
}

/// The duty to fill a slot. Dropped without an answer it says that the connection was lost, so that nothing waits for ever.
#[derive(Debug)]
pub(crate) struct Filler<T>(Arc<Slot<T>>);

/// What the handler awaits.
pub(crate) struct Answer<T>(Arc<Slot<T>>);

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self { state: Mutex::new(State { outcome: None, is_filled: false, waker: None }) }
    }
}

impl<T> Slot<T> {
    pub(crate) fn filler(self: &Arc<Self>) -> Filler<T> {
        Filler(self.clone())
    }

    pub(crate) const fn answer(self: Arc<Self>) -> Answer<T> {
        Answer(self)
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first outcome counts.
    fn fill(&self, outcome: Outcome<T>) {
        let mut state = self.state();
        if state.is_filled {
            return;
        }
        state.is_filled = true;
        state.outcome = Some(outcome);
        let waker = state.waker.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }
}

impl<T> Filler<T> {
    pub(crate) fn fill(self, outcome: Outcome<T>) {
        self.0.fill(outcome);
    }

    /// Whether the handler still waits.
    pub(super) fn is_wanted(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }
}

impl<T> Drop for Filler<T> {
    fn drop(&mut self) {
        self.0.fill(Err(Unanswered::Refused(Reason::Unavailable)));
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl<T> Answer<T> {
    /// Waits for it on this thread.
    pub(crate) fn wait(mut self) -> Outcome<T> {
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        loop {
            match Pin::new(&mut self).poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(outcome) => return outcome,
                Poll::Pending => std::thread::park(),
            }
        }
    }
}

/// Not to be polled again once it was ready.
impl<T> Future for Answer<T> {
    type Output = Outcome<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome<T>> {
        let mut state = self.0.state();
        if let Some(outcome) = state.outcome.take() {
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
        let slot = Arc::new(Slot::<()>::default());
        drop(slot.filler());
        let lost = Err(Unanswered::Refused(Reason::Unavailable));
        assert_eq!(pin!(slot.answer()).poll(&mut context), Poll::Ready(lost));
    }

    #[test]
    fn a_thread_waits_until_another_has_filled_it() {
        let slot = Arc::new(Slot::default());
        let filler = slot.filler();
        let other = std::thread::spawn(move || filler.fill(Ok(7)));
        assert_eq!(slot.answer().wait(), Ok(7));
        other.join().expect("it ends");
    }
}
