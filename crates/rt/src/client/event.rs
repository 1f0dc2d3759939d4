//! What a channel is asked, and what it says.

use bytes::Bytes;
use tailwater_control::client::Reply;
use tailwater_control::retry::Failure;
use tailwater_control::{DropReason, Reason};
use tailwater_core::{Instant, MethodId};
use tailwater_marks::Caller;
use tailwater_wire::Fault;

/// A call to be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewCall {
    /// Which method.
    pub method: MethodId,
    /// The arguments. Clones of them share their memory.
    pub payload: Bytes,
    /// When the answer is worthless.
    pub deadline: Option<Instant>,
    /// Smaller is more important; 128 is the middle.
    pub priority: u8,
    /// On whose behalf; zero for nobody in particular.
    pub tenant: u32,
    /// The request for which it is made, as a profiler knows it; [`Caller::NONE`] for none.
    pub caller: Caller,
}

/// A call has ended. Each submitted call ends in one event, but for those that were recalled or cancelled.
#[derive(Clone, PartialEq, Debug)]
pub struct Event {
    /// The driver's token.
    pub token: u64,
    /// When it ended.
    pub at: Instant,
    /// The call. Of one that was sent the arguments may be missing: they are with the kernel.
    pub call: NewCall,
    /// How it ended.
    pub end: End,
}

/// How a call ended.
#[derive(Clone, PartialEq, Debug)]
pub enum End {
    /// The application answered.
    Response {
        /// The application's status; zero is success.
        status: u16,
        /// The result.
        payload: Vec<u8>,
        /// The times of the answer.
        reply: Reply,
    },
    /// The server's runtime answered in the application's place.
    Fault {
        /// What it said.
        fault: Fault,
        /// The times of the answer.
        reply: Reply,
    },
    /// The server refused: it did not begin, or undid what it had begun.
    Rejected {
        /// Why; `None` for a reason that this version does not know.
        reason: Option<Reason>,
        /// The times of the answer.
        reply: Reply,
    },
    /// It was given up here before it was sent.
    Unsent(DropReason),
    /// It was sent, and the server closed the connection without having read it: it was not begun.
    NotTaken,
    /// It was sent, and the connection was lost: whether it was carried out is unknown.
    Lost,
    /// It does not fit the server's frames.
    TooLong {
        /// The longest payload that fits.
        most: usize,
    },
}

impl End {
    /// What the end of a try means for its call, which may have another at another replica; `None` for an end that is final.
    /// [`Replicas`](tailwater_control::Replicas) decides what becomes of the call. Every driver of channels asks here, so
    /// that all of them have one answer.
    #[must_use]
    pub const fn failure(&self) -> Option<Failure> {
        Some(match self {
            // What fits no frame here fits none elsewhere.
            Self::Response { .. } | Self::Fault { .. } | Self::TooLong { .. } => return None,
            Self::Rejected { reason: Some(reason), .. } => Failure::refused(*reason),
            // A reason that this version does not know is a refusal like any other.
            Self::Rejected { reason: None, .. } => Failure::Shed(Reason::Limit),
            Self::NotTaken => Failure::NotBegun,
            Self::Unsent(_) => Failure::Unsent,
            Self::Lost => Failure::Lost,
        })
    }

    /// The times of the answer or refusal; `None` where neither came.
    #[must_use]
    pub const fn reply(&self) -> Option<&Reply> {
        match self {
            Self::Response { reply, .. }
            | Self::Fault { reply, .. }
            | Self::Rejected { reply, .. } => Some(reply),
            Self::Unsent(_) | Self::NotTaken | Self::Lost | Self::TooLong { .. } => None,
        }
    }

    /// There is no answer of the application, and it may have begun all the same.
    pub(super) const fn may_have_run(&self) -> bool {
        matches!(self, Self::Fault { .. }) || matches!(self.failure(), Some(Failure::Lost))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::time::Duration;
    use tailwater_control::{Offer, Outcome};
    use tailwater_core::Stamp;

    fn reply(outcome: Outcome) -> Reply {
        let [elapsed, sojourn, waited] = [Duration::from_micros(9); 3];
        Reply { outcome, offer: Offer::OPEN, stamp: Stamp(1), elapsed, sojourn, waited }
    }

    fn rejected(reason: Option<Reason>) -> End {
        End::Rejected { reason, reply: reply(Outcome::Shed(reason.unwrap_or(Reason::Limit))) }
    }

    #[test]
    fn each_end_has_one_meaning_for_the_choice_of_replicas() {
        let served = reply(Outcome::Served);
        let finals = [
            End::Response { status: 500, payload: Vec::new(), reply: served },
            End::Fault { fault: Fault::HandlerTimeout, reply: served },
            End::TooLong { most: 9 },
        ];
        assert_eq!(finals.map(|end| end.failure()), [None; 3]);
        let failed = [
            (rejected(Some(Reason::Lock)), Failure::Shed(Reason::Lock)),
            (rejected(Some(Reason::Cancelled)), Failure::Shed(Reason::Cancelled)),
            (rejected(Some(Reason::Draining)), Failure::NotBegun),
            (rejected(Some(Reason::Unavailable)), Failure::Lost),
            (rejected(None), Failure::Shed(Reason::Limit)),
            (End::NotTaken, Failure::NotBegun),
            (End::Unsent(DropReason::Expired), Failure::Unsent),
            (End::Unsent(DropReason::QueueFull), Failure::Unsent),
            (End::Lost, Failure::Lost),
        ];
        for (end, failure) in failed {
            assert_eq!(end.failure(), Some(failure), "{end:?}");
        }
    }

    #[test]
    fn only_what_came_from_the_server_has_times() {
        let served = reply(Outcome::Served);
        let answer = End::Response { status: 0, payload: Vec::new(), reply: served };
        let fault = End::Fault { fault: Fault::Panicked, reply: served };
        assert!([answer, fault, rejected(None)].iter().all(|end| end.reply().is_some()));
        let unheard = [End::Lost, End::NotTaken, End::Unsent(DropReason::Expired)];
        assert!(unheard.iter().all(|end| end.reply().is_none()));
    }
}
