//! What the control core tells whoever watches: logs, metrics, plots and test assertions.

use crate::{Instant, SessionId};
use std::time::Duration;

/// Receives what the control core decided. Rare events only: per-request counts are kept in local
/// integers and read in batches.
pub trait Observer {
    /// `event` happened at `now`. Must not call back into the controller.
    fn on_event(&mut self, now: Instant, event: &Event);
}

/// Something the control core decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Event {
    /// The regulator changed the pool's size.
    PoolResized {
        /// Credits before.
        from: u32,
        /// Credits after.
        to: u32,
        /// The queueing delay it reacted to.
        delay: Duration,
    },
    /// A client was registered.
    Registered(SessionId),
    /// A client gave back its credits, or its connection is gone.
    Deregistered(SessionId),
    /// A request was shed; the reason's stable name.
    Shed(SessionId, &'static str),
    /// A request would have been shed, but the controller runs dry or its shedding cap is spent.
    Spared(SessionId, &'static str),
    /// A client exceeded every window it may have known.
    Violation(SessionId),
    /// A message was sent only to carry credits.
    ExplicitCredit(SessionId),
}

/// The observer that is not there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn on_event(&mut self, _now: Instant, _event: &Event) {}
}

impl<F: FnMut(Instant, &Event)> Observer for F {
    fn on_event(&mut self, now: Instant, event: &Event) {
        self(now, event);
    }
}
