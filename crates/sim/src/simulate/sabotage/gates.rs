//! A client that does nearly what it should.

use crate::swarm::Case;
use std::time::Duration;
use tailwater_control::breakwater::CreditGate;
use tailwater_control::catalog::DEFAULT;
use tailwater_control::client::{Expiry, Permit};
use tailwater_control::{Call, Client, ClientConfig, Gate, Offer, Reply};
use tailwater_core::Instant;

/// What is wrong with the client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum GateBug {
    /// Off by one.
    SendsOneTooMany,
    /// A smaller window is taken for an old one.
    IgnoresRevocations,
    /// A new connection goes on with the window of the last.
    RemembersTheLostConnection,
    /// A window of zero is the end.
    NeverReopens,
    /// The queue is larger than was said.
    QueuesTooMany,
}

/// A client with the bug; one without credits to care about is sound.
pub(super) fn client(case: &Case, bug: GateBug, sound: Client) -> Client {
    if case.spec.name != DEFAULT && bug != GateBug::QueuesTooMany {
        return sound;
    }
    let excess = if bug == GateBug::QueuesTooMany { 1 } else { 0 };
    let config = ClientConfig {
        queue_max: case.world.client_queue_max as usize + excess,
        expiry: Expiry::After(Duration::from_millis(50)),
        announce_demand: false,
        deregister_after: None,
    };
    Client::new(config, Box::new(BadGate { inner: CreditGate::default(), bug, window: 1 }))
}

struct BadGate {
    inner: CreditGate,
    bug: GateBug,
    /// Of the newest offer that was accepted.
    window: u32,
}

impl Gate for BadGate {
    fn permit(&mut self, now: Instant, call: &Call, outstanding: u32) -> Permit {
        let outstanding = match self.bug {
            GateBug::SendsOneTooMany => outstanding.saturating_sub(1),
            GateBug::NeverReopens if self.window == 0 => return Permit::Wait,
            _ => outstanding,
        };
        self.inner.permit(now, call, outstanding)
    }

    fn on_sent(&mut self, now: Instant, call: &Call) {
        self.inner.on_sent(now, call);
    }

    fn on_reply(&mut self, now: Instant, reply: &Reply) {
        self.inner.on_reply(now, reply);
    }

    fn on_offer(&mut self, now: Instant, offer: Offer) {
        let ignored = match self.bug {
            GateBug::IgnoresRevocations => offer.window < self.window,
            GateBug::NeverReopens => self.window == 0,
            _ => false,
        };
        if !ignored {
            self.window = offer.window;
            self.inner.on_offer(now, offer);
        }
    }

    fn on_deregistered(&mut self) {
        self.inner.on_deregistered();
    }

    fn on_disconnected(&mut self) {
        if self.bug != GateBug::RemembersTheLostConnection {
            self.inner.on_disconnected();
            self.window = 1;
        }
    }

    fn acked(&self) -> u32 {
        self.inner.acked()
    }
}
