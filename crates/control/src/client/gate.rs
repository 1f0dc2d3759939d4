//! The part of a client that differs from controller to controller: may the next call go?

use super::{Call, DropReason, Reply};
use crate::server::Offer;
use tailwater_core::Instant;

/// Decides whether a client may send. One per connection.
pub trait Gate: Send {
    /// The priority that `call` is queued and sent with. Asked for once, when the call is submitted:
    /// a gate that draws lots draws once a call. Most keep what the caller chose.
    fn priority(&mut self, _now: Instant, call: &Call) -> u8 {
        call.priority
    }

    /// May `call` be sent now, with `outstanding` requests on their way? Changed by every `on_*`
    /// and, where [`Gate::next_deadline`] says so, by time.
    fn permit(&mut self, now: Instant, call: &Call, outstanding: u32) -> Permit;

    /// `call` was sent.
    fn on_sent(&mut self, now: Instant, call: &Call);

    /// A response or reject came; its offer is given to [`Gate::on_offer`] first.
    fn on_reply(&mut self, now: Instant, reply: &Reply);

    /// The server says what it allows. Idempotent; older offers than the newest known do nothing. It came at
    /// `came`, which lies back where a connection's first is told of at the registration.
    fn on_offer(&mut self, came: Instant, offer: Offer);

    /// The credits were given back; the session and its sequence numbers live on.
    fn on_deregistered(&mut self);

    /// The connection was lost: forget everything the server said.
    fn on_disconnected(&mut self);

    /// The newest sequence number known, to be echoed.
    fn acked(&self) -> u32 {
        0
    }

    /// The server has asked for silence, and the time is not over: a call would wait, whatever its credit.
    fn is_paused(&self, _now: Instant) -> bool {
        false
    }

    /// When a waiting call may become permitted by time alone (rate limiters).
    fn next_deadline(&self) -> Option<Instant> {
        None
    }
}

/// See [`Gate::permit`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Permit {
    /// Send it.
    Send,
    /// Keep it waiting.
    Wait,
    /// Give it up: the server would shed it.
    Drop(DropReason),
}

/// The gate that is always open.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpenGate;

impl Gate for OpenGate {
    fn permit(&mut self, _now: Instant, _call: &Call, _outstanding: u32) -> Permit {
        Permit::Send
    }
    fn on_sent(&mut self, _now: Instant, _call: &Call) {}
    fn on_reply(&mut self, _now: Instant, _reply: &Reply) {}
    fn on_offer(&mut self, _now: Instant, _offer: Offer) {}
    fn on_deregistered(&mut self) {}
    fn on_disconnected(&mut self) {}
}
