//! A call to be made for a fan, and what becomes of it.

use crate::client::{Answer, CallError, NewCall};
use bytes::Bytes;
use tailwater_core::{Instant, MethodId};
use tailwater_marks::Caller;

/// A call to be made. The shard is counted over all tiers.
pub(super) struct Planned {
    pub(super) shard: usize,
    pub(super) method: MethodId,
    pub(super) payload: Bytes,
}

/// What all calls of a fan have in common.
#[derive(Clone, Copy)]
pub(super) struct Terms {
    pub(super) deadline: Instant,
    pub(super) priority: u8,
    pub(super) tenant: u32,
    /// The request, as a profiler knows it.
    pub(super) caller: Caller,
    /// A call waits for no connection after one was lost.
    pub(super) reached_only: bool,
    /// A call may be carried out twice.
    pub(super) hedged: bool,
}

impl Terms {
    pub(super) fn of(self, planned: Planned) -> NewCall {
        let Self { deadline, priority, tenant, caller, reached_only: _, hedged: _ } = self;
        let Planned { method, payload, .. } = planned;
        NewCall { method, payload, deadline: Some(deadline), priority, tenant, caller }
    }
}

pub(crate) type Outcome = Result<Answer, CallError>;
