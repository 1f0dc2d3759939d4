//! The answer of a lock that does not fit a budget.

use std::error::Error;
use std::fmt;
use std::time::Duration;
use tailwater_control::Reason;

/// A lock was not acquired, since waiting for it does not fit what is left of the request's budget.
///
/// No error of anybody: answer the request with [`Refused::reason`] and return; guards release what is
/// held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// On entry, without having waited: the queue is too old, or nothing is left.
    OnEntry {
        /// How long the oldest waiter had waited; zero where nobody did.
        oldest_wait: Duration,
        /// What was left of the budget.
        left: Duration,
    },
    /// The budget ended in the queue.
    GaveUp {
        /// How long this request waited here, which is deducted already.
        waited: Duration,
    },
}

impl Refused {
    /// The reason code to answer the request with.
    #[must_use]
    pub const fn reason(&self) -> Reason {
        Reason::Lock
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OnEntry { oldest_wait, left } => write!(
                f,
                "refused on entry: the oldest waiter has waited {oldest_wait:?}, {left:?} of the \
                 budget are left"
            ),
            Self::GaveUp { waited } => {
                write!(f, "gave up after waiting {waited:?}, when the budget ended")
            }
        }
    }
}

impl Error for Refused {}
