//! The gate of a client that bounds its requests on their way.

use super::config::Config;
use super::law::{Law, Sample};
use crate::client::{Call, Gate, Permit, Reply};
use crate::server::{Offer, Outcome};
use tailwater_core::Instant;

/// Sends while fewer requests are on their way than the window allows.
#[derive(Clone, Copy, Debug)]
pub struct WindowGate {
    config: Config,
    law: Law,
    in_flight: u32,
}

impl WindowGate {
    /// A client's gate. `config` must have passed [`Config::check`].
    #[must_use]
    pub const fn new(config: Config) -> Self {
        Self { config, law: Law::new(config), in_flight: 0 }
    }

    /// Requests that may be on their way now; at least one.
    #[must_use]
    pub const fn window(&self) -> u32 {
        self.law.window()
    }
}

impl Gate for WindowGate {
    fn permit(&mut self, _now: Instant, _call: &Call, outstanding: u32) -> Permit {
        // The client's own count, so that requests taken back or lost cannot make ours drift.
        self.in_flight = outstanding;
        if outstanding < self.window() { Permit::Send } else { Permit::Wait }
    }

    fn on_sent(&mut self, _now: Instant, _call: &Call) {
        self.in_flight += 1;
    }

    fn on_reply(&mut self, now: Instant, reply: &Reply) {
        let late = reply.outcome != Outcome::Served || reply.elapsed > self.config.target;
        let sample = Sample { sent: now - reply.elapsed, late, in_flight: self.in_flight };
        self.law.on_response(now, sample);
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    fn on_offer(&mut self, _now: Instant, _offer: Offer) {}

    fn on_deregistered(&mut self) {}

    fn on_disconnected(&mut self) {
        *self = Self::new(self.config);
    }
}
