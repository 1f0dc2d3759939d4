//! What a channel is asked, and what it says.

use bytes::Bytes;
use tailwater_control::client::Reply;
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
    /// There is no answer of the application, and it may have begun all the same.
    pub(super) const fn may_have_run(&self) -> bool {
        matches!(self, Self::Fault { .. } | Self::Lost)
    }
}
