//! What comes of a call: a response, or why there is none.

use std::fmt;
use std::time::Duration;
use tailwater_control::{DropReason, Reason};
use tailwater_wire::Fault;

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
    /// The server refused; it did not begin, or undid what it had begun. Another replica may serve it. With
    /// [`Reason::Priority`] it may not have been sent: the server had told which priorities it refuses.
    Shed(Reason),
    /// Given up at this client before it was sent.
    Expired,
    /// Too many calls wait at this client; this was the oldest, or one more than the client takes.
    QueueFull,
    /// Its deadline passed while it was on its way; whether it was carried out is unknown.
    TimedOut,
    /// The connection was lost while it was on its way; whether it was carried out is unknown. Of a call that was tried at
    /// two replicas: of one try that is unknown, and the other did not begin.
    Disconnected,
    /// The server's runtime answered in the application's place.
    Runtime(Fault),
    /// Longer than the server accepts, by so many bytes at most.
    TooLong {
        /// The longest payload that fits.
        most: usize,
    },
    /// It was answered, and the answers of its [`Fan`](crate::downstream::Fan) were longer together than a fan's may be.
    AnswersTooLong {
        /// Bytes that they may have.
        most: usize,
    },
    /// A [`Fan`](crate::downstream::Fan) had answers enough without it; whether it was carried out is unknown.
    NotAwaited,
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shed(reason) => write!(f, "the server refused it: {}", reason.name()),
            Self::Expired => f.write_str("no credit came in time; it was not sent"),
            Self::QueueFull => f.write_str("too many calls wait at this client"),
            Self::TimedOut => f.write_str("no answer came before the deadline"),
            Self::Disconnected => f.write_str("the connection was lost before the answer came"),
            Self::Runtime(fault) => fault.fmt(f),
            Self::NotAwaited => f.write_str("enough other calls were answered before it"),
            Self::AnswersTooLong { most } => write!(
                f,
                "the answers of its fan are longer than the {most} bytes that one may have; raise answers_max of the tier"
            ),
            Self::TooLong { most } => {
                write!(f, "the payload is longer than the {most} bytes that the server accepts")
            }
        }
    }
}

impl std::error::Error for CallError {}

impl CallError {
    /// It says that the call was not carried out.
    pub(super) const fn denies_execution(self) -> bool {
        matches!(self, Self::Shed(_) | Self::Expired | Self::QueueFull | Self::TooLong { .. })
    }

    /// What a call hears that was dropped before it was sent.
    pub(super) const fn unsent(reason: DropReason) -> Self {
        match reason {
            DropReason::QueueFull => Self::QueueFull,
            DropReason::Disconnected => Self::Disconnected,
            DropReason::Priority => Self::Shed(Reason::Priority),
            // `Expired`, and reasons that later versions add.
            _ => Self::Expired,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_call_below_the_servers_threshold_does_not_say_that_credit_was_missing() {
        let error = CallError::unsent(DropReason::Priority);
        assert_eq!(error.to_string(), "the server refused it: priority");
    }
}
