//! The gate of a client that gives its calls levels and drops what the server would shed.

use super::config::{Belief, Config, Draw};
use crate::client::{Call, DropReason, Gate, Permit, Reply};
use crate::server::Offer;
use tailwater_core::{Instant, Rng};

/// Draws a level for each call and compares it with the newest threshold heard. Trusted by the
/// server: a client that stamps each call as most important is never shed.
#[derive(Clone, Debug)]
pub struct DagorGate {
    config: Config,
    rng: Rng,
    /// The first priority that the server sheds; zero admits all.
    shed_from: u16,
    /// When the server was last heard, or last asked by a probe.
    heard: Instant,
    /// The client's own user level, with [`Draw::PerClient`], and when the next is drawn.
    user: u16,
    redraw_at: Instant,
}

impl DagorGate {
    /// A gate with its own source of chance: gates that share a seed draw the same levels.
    #[must_use]
    pub fn new(config: Config, rng: Rng) -> Self {
        let (heard, redraw_at) = (Instant::ZERO, Instant::ZERO);
        let mut gate = Self { config, rng, shed_from: 0, heard, user: 0, redraw_at };
        gate.shed_from = gate.belief();
        gate
    }

    fn belief(&mut self) -> u16 {
        let levels = self.config.levels;
        match self.config.belief {
            Belief::Open => 0,
            Belief::Random => levels.advertise(draw(&mut self.rng, levels.count())),
        }
    }

    fn user(&mut self, now: Instant) -> u16 {
        let users = self.config.levels.users();
        let Draw::PerClient(every) = self.config.draw else {
            return draw(&mut self.rng, users);
        };
        if now >= self.redraw_at {
            self.user = draw(&mut self.rng, users);
            self.redraw_at = now + every;
        }
        self.user
    }

    fn is_probe_due(&self, now: Instant) -> bool {
        self.config.probe_after.is_some_and(|after| now.since(self.heard) >= after)
    }
}

impl Gate for DagorGate {
    fn priority(&mut self, now: Instant, call: &Call) -> u8 {
        let user = self.user(now);
        self.config.levels.stamp(call.priority, user)
    }

    fn permit(&mut self, now: Instant, call: &Call, _outstanding: u32) -> Permit {
        if self.shed_from == 0 || u16::from(call.priority) < self.shed_from {
            return Permit::Send;
        }
        if self.is_probe_due(now) {
            self.heard = now;
            return Permit::Send;
        }
        Permit::Drop(DropReason::Priority)
    }

    fn on_sent(&mut self, _now: Instant, _call: &Call) {}

    fn on_reply(&mut self, _now: Instant, _reply: &Reply) {}

    /// Offers of a connection come in order, so the newest to come is the newest.
    fn on_offer(&mut self, came: Instant, offer: Offer) {
        self.shed_from = offer.level;
        // The request that registers may be a probe, sent after the offer came.
        self.heard = self.heard.max(came);
    }

    fn on_deregistered(&mut self) {}

    fn on_disconnected(&mut self) {
        self.shed_from = self.belief();
    }
}

/// Uniform in `0..bound`.
fn draw(rng: &mut Rng, bound: u16) -> u16 {
    u16::try_from(rng.below(u32::from(bound))).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tailwater_core::RequestId;

    const SLO: Duration = Duration::from_micros(200);

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn gate(config: Config, seed: u64) -> DagorGate {
        DagorGate::new(config, Rng::from_seed(seed))
    }

    fn call(priority: u8) -> Call {
        Call { id: RequestId(1), deadline: None, priority }
    }

    /// The share of calls of the middle priority that the gate lets pass at `now`.
    fn passing(gate: &mut DagorGate, now: Instant) -> f64 {
        let pass = |_: &u32| {
            let priority = gate.priority(now, &call(128));
            gate.permit(now, &call(priority), 0) == Permit::Send
        };
        f64::from(u32::try_from((0..10_000).filter(pass).count()).unwrap()) / 10_000.0
    }

    #[test]
    fn a_threshold_of_32_lets_33_levels_of_128_pass() {
        let config = Config::paper(SLO);
        let mut gate = gate(config, 1);
        assert_eq!(passing(&mut gate, at(0)), 1.0, "believed open");
        let offer = Offer { level: config.levels.advertise(32), ..Offer::OPEN };
        gate.on_offer(at(0), offer);
        let share = passing(&mut gate, at(0));
        assert!((share - 33.0 / 128.0).abs() < 0.02, "{share}");
        gate.on_offer(at(1), Offer::OPEN);
        assert_eq!(passing(&mut gate, at(1)), 1.0);
    }

    #[test]
    fn the_artifacts_clients_begin_with_different_thresholds_that_all_admit_something() {
        let artifact = Config::artifact(SLO);
        let shares: Vec<f64> =
            (0..40).map(|seed| passing(&mut gate(artifact, seed), at(0))).collect();
        let mean = shares.iter().sum::<f64>() / 40.0;
        assert!((0.35..0.65).contains(&mean), "{mean}");
        assert!(shares.iter().all(|&share| share > 0.0), "{shares:?}");
    }

    #[test]
    fn a_client_keeps_its_level_until_it_draws_anew() {
        let draw = Draw::PerClient(Duration::from_millis(10));
        let mut gate = gate(Config { draw, ..Config::original() }, 3);
        let mut levels = |ms| (0..8).map(|_| gate.priority(at(ms), &call(128))).collect::<Vec<_>>();
        let first = levels(1);
        assert!(first.iter().all(|level| *level == first[0]));
        assert_eq!(levels(10), first);
        let later: Vec<u8> = (2..12).map(|period| levels(period * 10)[0]).collect();
        assert!(later.iter().any(|level| *level != first[0]), "{later:?}");
    }

    #[test]
    fn a_silenced_client_probes_once_for_each_silence() {
        let config = Config::tuned(SLO);
        let mut gate = gate(config, 1);
        gate.on_offer(at(100), Offer { level: config.levels.advertise(0), ..Offer::OPEN });
        let mut asks = |ms| gate.permit(at(ms), &call(128), 0);
        assert_eq!(asks(199), Permit::Drop(DropReason::Priority));
        assert_eq!(asks(200), Permit::Send);
        assert_eq!(asks(201), Permit::Drop(DropReason::Priority));
        assert_eq!(asks(300), Permit::Send);
    }

    #[test]
    fn a_lost_connection_forgets_the_threshold() {
        let mut gate = gate(Config::paper(SLO), 1);
        gate.on_offer(at(0), Offer { level: 2, ..Offer::OPEN });
        assert!(passing(&mut gate, at(0)) < 0.1);
        gate.on_disconnected();
        assert_eq!(passing(&mut gate, at(0)), 1.0);
    }

    #[test]
    fn the_first_priority_that_the_server_sheds_is_dropped_and_the_one_before_is_sent() {
        let mut gate = gate(Config::paper(SLO), 1);
        gate.on_offer(at(0), Offer { level: 66, ..Offer::OPEN });
        assert_eq!(gate.permit(at(0), &call(65), 0), Permit::Send);
        assert_eq!(gate.permit(at(0), &call(66), 0), Permit::Drop(DropReason::Priority));
    }
}
