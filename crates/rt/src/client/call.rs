//! One call's answer, on its way from the reactor to the caller.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tailwater_control::{DropReason, Reason};

/// A response.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The application's status; zero is success.
    pub status: u16,
    /// The result.
    pub payload: Vec<u8>,
    /// Its time at the server, waiting included.
    pub sojourn: Duration,
}

/// Why there is no response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CallError {
    /// The server refused; it did not begin, or undid what it had begun. Another replica may serve it.
    Shed(Reason),
    /// Given up at this client before it was sent.
    Expired,
    /// Too many calls wait at this client; this was the oldest.
    QueueFull,
    /// Its deadline passed while it was on its way; whether it was carried out is unknown.
    TimedOut,
    /// The connection was lost while it was on its way; whether it was carried out is unknown.
    Disconnected,
    /// Longer than the server accepts, by so many bytes at most.
    TooLong {
        /// The longest payload that fits.
        most: usize,
    },
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shed(reason) => write!(f, "the server refused it: {}", reason.name()),
            Self::Expired => f.write_str("no credit came in time; it was not sent"),
            Self::QueueFull => f.write_str("too many calls wait at this client"),
            Self::TimedOut => f.write_str("no answer came before the deadline"),
            Self::Disconnected => f.write_str("the connection was lost before the answer came"),
            Self::TooLong { most } => {
                write!(f, "the payload is longer than the {most} bytes that the server accepts")
            }
        }
    }
}

impl std::error::Error for CallError {}

impl From<DropReason> for CallError {
    fn from(reason: DropReason) -> Self {
        match reason {
            DropReason::QueueFull => Self::QueueFull,
            DropReason::Disconnected => Self::Disconnected,
            _ => Self::Expired,
        }
    }
}

/// Where the reactor leaves the answer.
#[derive(Default)]
pub(super) struct Slot {
    state: Mutex<State>,
    filled: Condvar,
}

#[derive(Default)]
struct State {
    answer: Option<Result<Answer, CallError>>,
    waker: Option<Waker>,
}

impl Slot {
    fn fill(&self, answer: Result<Answer, CallError>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.answer.is_none() {
            state.answer = Some(answer);
        }
        self.filled.notify_all();
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// Who owes a slot its answer. Dropped without giving one, as when the reactor panics, it says
/// `Disconnected`, so that nobody waits for ever.
pub(super) struct Filler(Option<Arc<Slot>>);

impl Filler {
    pub(super) const fn new(slot: Arc<Slot>) -> Self {
        Self(Some(slot))
    }

    pub(super) fn fill(mut self, answer: Result<Answer, CallError>) {
        if let Some(slot) = self.0.take() {
            slot.fill(answer);
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

/// A call on its way. Dropping it does not recall the request.
#[must_use = "the answer comes only to who awaits it"]
pub struct CallFuture(Arc<Slot>);

impl CallFuture {
    pub(super) const fn new(slot: Arc<Slot>) -> Self {
        Self(slot)
    }

    /// Blocks the thread until the answer is there. Not for handlers: they await it.
    ///
    /// # Errors
    /// Why there is no response.
    pub fn wait(self) -> Result<Answer, CallError> {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(answer) = state.answer.take() {
                return answer;
            }
            state = self.0.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Future for CallFuture {
    type Output = Result<Answer, CallError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = state.answer.take() {
            return Poll::Ready(answer);
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }
}
