//! The gate of a client that limits its own rate.

use super::bucket::Bucket;
use super::config::Config;
use super::law::{Decision, Law};
use crate::client::{Call, Gate, Permit, Reply};
use crate::server::{Offer, Outcome};
use std::time::Duration;
use tailwater_core::{Instant, Nanos, Rng};

/// A token bucket whose rate follows the response times. Departs from the published code in that a
/// call waiting for a token goes as soon as a raised rate allows it; the code sleeps as long as the
/// old rate said.
#[derive(Debug)]
pub struct SedaGate {
    config: Config,
    rng: Rng,
    law: Law,
    bucket: Bucket,
    /// At most `config.responses`.
    responses_ns: Vec<u32>,
    updated: Option<Instant>,
    lowered: Option<Instant>,
    /// The bucket was low since the last update.
    limited: bool,
    wake: Option<Instant>,
}

impl SedaGate {
    /// A client's gate. `seed` must be its own, or all clients would start at one rate. `config`
    /// must have passed [`Config::check`].
    #[must_use]
    pub fn new(config: Config, seed: u64) -> Self {
        let mut rng = Rng::from_seed(seed);
        let law = Law::new(config, initial_rate(&config, &mut rng));
        let bucket = Bucket::new(config.tokens_initial, config.burst, law.rate());
        Self {
            config,
            rng,
            law,
            bucket,
            responses_ns: Vec::new(),
            updated: None,
            lowered: None,
            limited: false,
            wake: None,
        }
    }

    /// Requests per second that it allows now.
    #[must_use]
    pub const fn rate(&self) -> f64 {
        self.law.rate()
    }

    fn update(&mut self, now: Instant) {
        let decision = self.law.update(&mut self.responses_ns, self.limited);
        self.responses_ns.clear();
        self.updated = Some(now);
        self.limited = false;
        if decision == Decision::Lowered {
            self.lowered = Some(now);
        }
        self.bucket.set_rate(now, self.law.rate());
    }

    fn is_due(&self, now: Instant) -> bool {
        // The first response of all is an update, as in the published code.
        let timed_out = self.updated.is_none_or(|last| now.since(last) > self.config.timeout);
        timed_out || self.responses_ns.len() >= self.config.responses as usize
    }
}

impl Gate for SedaGate {
    fn permit(&mut self, now: Instant, _call: &Call, _outstanding: u32) -> Permit {
        // Set here only: a deadline that outlived its call or its connection would wake the driver
        // for nothing, again and again.
        self.wake = self.bucket.wait(now);
        self.limited |= self.bucket.is_low();
        if self.wake.is_none() { Permit::Send } else { Permit::Wait }
    }

    fn on_sent(&mut self, _now: Instant, _call: &Call) {
        self.bucket.take();
    }

    fn on_reply(&mut self, now: Instant, reply: &Reply) {
        let is_stale = self.lowered.is_some_and(|lowered| now - reply.elapsed < lowered);
        if self.config.fresh_only && is_stale {
            return;
        }
        // SEDA's servers shed nothing; where another part of ours does, it is overload, however
        // fast the answer came.
        let response = match reply.outcome {
            Outcome::Served => reply.elapsed,
            Outcome::Shed(_) => reply.elapsed.max(2 * self.config.target),
        };
        self.responses_ns.push(saturated(response));
        if self.is_due(now) {
            self.update(now);
        }
    }

    fn on_offer(&mut self, _now: Instant, _offer: Offer) {}

    fn on_deregistered(&mut self) {}

    fn on_disconnected(&mut self) {
        let seed = self.rng.u64();
        *self = Self::new(self.config, seed);
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.wake
    }
}

fn initial_rate(config: &Config, rng: &mut Rng) -> f64 {
    let (low, high) = (config.rate_initial_min, config.rate_initial_max);
    low + rng.unit() * (high - low)
}

/// Nanoseconds, up to the 4.3 s that 32 bits hold: ten thousand clients remember a hundred each.
fn saturated(duration: Duration) -> u32 {
    u32::try_from(duration.nanos()).unwrap_or(u32::MAX)
}
