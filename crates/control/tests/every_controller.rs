//! Random operation sequences against every controller and profile of the catalog, whatever it is:
//! what all of them owe to their drivers. What Breakwater owes beside is in `sequences.rs`.

use crate::any::ops::{Op, ops};
use crate::any::{self, Breach, World};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};
use std::time::Duration;
use tailwater_control::catalog::{CONTROLLERS, Spec, profiles_of};
use tailwater_control::{Arrival, Offer, Reason, RequestEnd, Shard, Site, Verdict, Wish};
use tailwater_core::{Instant, Observer, SessionId};

/// Every controller under every profile it has.
fn specs() -> Vec<Spec> {
    let all = CONTROLLERS.iter().flat_map(|&(name, _)| {
        profiles_of(name)
            .into_iter()
            .map(move |profile| Spec { profile: profile.into(), ..Spec::named(name) })
    });
    all.collect()
}

/// The whole sequence; then every call comes to its end, and everybody leaves.
fn live(
    spec: &Spec,
    (shards, clients): (usize, usize),
    ops: &[Op],
    wrap: impl Fn(Box<dyn Shard>) -> Box<dyn Shard>,
) -> Result<(), Breach> {
    let mut world = World::new(spec, shards, clients, wrap);
    for (step, op) in ops.iter().enumerate() {
        world.step(op).map_err(|what| format!("{spec}, step {step}, {op:?}: {what}"))?;
    }
    world.drain().map_err(|what| format!("{spec}, drain: {what}"))?;
    world.leave().map_err(|what| format!("{spec}, leave: {what}"))
}

#[test]
fn every_controller_keeps_the_common_promises() {
    for spec in specs() {
        let config = Config { cases: 256, failure_persistence: None, ..Config::default() };
        let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        let mut runner = TestRunner::new_with_rng(config, rng);
        let found = runner.run(&((1..=3_usize, 1..=4_usize), ops()), |(crowd, ops)| {
            live(&spec, crowd, &ops, |shard| shard).map_err(TestCaseError::fail)
        });
        assert!(found.is_ok(), "{}", found.unwrap_err());
    }
}

proptest! {
    #![proptest_config(Config { cases: 256, ..Config::default() })]

    /// As the other, with new sequences each time.
    #[test]
    fn so_does_one_at_random(
        spec in select(specs()),
        crowd in (1..=3_usize, 1..=4_usize),
        ops in ops(),
    ) {
        live(&spec, crowd, &ops, |shard| shard).map_err(TestCaseError::fail)?;
    }
}

/// A way to be wrong that does not depend on the controller.
#[derive(Clone, Copy, Debug)]
enum Bug {
    /// Asks to be called at once, for ever.
    Hurries,
    /// Answers an honest client with a goodbye.
    TurnsAway,
    /// Sheds although it is switched off.
    IgnoresTheSwitch,
    /// Keeps wishing the same.
    Babbles,
}

struct Mutant {
    inner: Box<dyn Shard>,
    bug: Bug,
    requests: u32,
}

impl Shard for Mutant {
    fn on_open(&mut self, now: Instant, id: SessionId, observer: &mut dyn Observer) -> Offer {
        self.inner.on_open(now, id, observer)
    }

    fn on_close(&mut self, now: Instant, id: SessionId, observer: &mut dyn Observer) {
        self.inner.on_close(now, id, observer);
    }

    fn on_deregister(&mut self, now: Instant, id: SessionId, observer: &mut dyn Observer) {
        self.inner.on_deregister(now, id, observer);
    }

    fn on_demand(&mut self, now: Instant, id: SessionId, demand: u32, acked: u32) {
        self.inner.on_demand(now, id, demand, acked);
    }

    fn on_request(
        &mut self,
        now: Instant,
        id: SessionId,
        arrival: &Arrival,
        delay: Duration,
        observer: &mut dyn Observer,
    ) -> Verdict {
        let verdict = self.inner.on_request(now, id, arrival, delay, observer);
        self.requests += 1;
        match self.bug {
            Bug::TurnsAway if self.requests > 5 => Verdict::Close(Reason::Draining),
            Bug::IgnoresTheSwitch if self.requests > 2 => Verdict::Shed(Reason::Delay),
            _ => verdict,
        }
    }

    fn on_start(
        &mut self,
        now: Instant,
        id: SessionId,
        waited: Duration,
        time_left: Option<Duration>,
        observer: &mut dyn Observer,
    ) -> Verdict {
        self.inner.on_start(now, id, waited, time_left, observer)
    }

    fn on_sent(&mut self, now: Instant, id: SessionId) {
        self.inner.on_sent(now, id);
    }

    fn on_done(&mut self, now: Instant, id: SessionId, done: &RequestEnd) -> Offer {
        self.inner.on_done(now, id, done)
    }

    fn on_tick(&mut self, now: Instant, delay: Duration, observer: &mut dyn Observer) {
        self.inner.on_tick(now, delay, observer);
    }

    fn next_deadline(&self, now: Instant) -> Option<Instant> {
        match self.bug {
            Bug::Hurries => Some(now),
            _ => self.inner.next_deadline(now),
        }
    }

    fn poll_wish(&mut self, now: Instant, observer: &mut dyn Observer) -> Option<Wish> {
        match self.bug {
            Bug::Babbles => Some(Wish::Credit(SessionId(0), Offer::OPEN)),
            _ => self.inner.poll_wish(now, observer),
        }
    }
}

#[test]
fn planted_bugs_are_found() {
    let bugs = [
        (Bug::Hurries, "a deadline that is not in the future"),
        (Bug::TurnsAway, "turned away"),
        (Bug::IgnoresTheSwitch, "while nothing is enforced"),
        (Bug::Babbles, "wishes for ever"),
    ];
    for (bug, words) in bugs {
        let plant = |inner| Box::new(Mutant { inner, bug, requests: 0 }) as Box<dyn Shard>;
        let config = Config {
            cases: 256,
            max_shrink_iters: 0,
            failure_persistence: None,
            ..Config::default()
        };
        let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        let found = TestRunner::new_with_rng(config, rng).run(&ops(), |ops| {
            live(&Spec::named("aqm-only"), (1, 2), &ops, plant).map_err(TestCaseError::fail)
        });
        let Err(TestError::Fail(breach, _)) = found else {
            panic!("{bug:?} was not caught: {found:?}");
        };
        assert!(breach.to_string().contains(words), "{bug:?} was caught otherwise: {breach}");
    }
}

/// A gate's own chance is decided by the seed and the client's number, not by who asks first.
#[test]
fn clients_of_the_same_number_are_the_same() {
    for spec in specs() {
        let course = |order: &[u64]| {
            let controller = spec.build(&Site::one_loop(any::SLO, 7)).expect("a sound spec");
            let mut clients: Vec<_> =
                order.iter().map(|&index| (index, controller.client(index))).collect();
            clients.sort_by_key(|(index, _)| *index);
            clients.into_iter().map(|(_, client)| any::actions(client)).collect::<Vec<_>>()
        };
        assert_eq!(course(&[0, 1, 2]), course(&[2, 0, 1]), "{spec}");
    }
}

#[test]
fn what_a_controller_sheds_it_sheds_for_a_reason_of_its_own() {
    let allowed = |name: &str| -> &[Reason] {
        match name {
            "none" | "seda" | "window" => &[],
            "aqm-only" => &[Reason::Delay, Reason::Deadline],
            "breakwater" | "efficiency" => &[Reason::Delay, Reason::Deadline, Reason::NoCredit],
            "dagor" => &[Reason::Priority],
            "codel" => &[Reason::Delay],
            "gradient" => &[Reason::Limit],
            other => panic!("say here what {other} may shed for"),
        }
    };
    for spec in specs() {
        let mut world = World::new(&spec, 1, 3, |shard| shard);
        for round in 0..400_u64 {
            let work = [
                Op::Submit(round as usize, 2, 128),
                Op::Up(round as usize),
                Op::Up(0),
                Op::Start(0),
                Op::Finish(0, 0),
                Op::Tick(0, round % 5 * 100),
                Op::Down(round as usize),
                Op::Pass(20_000),
            ];
            work.iter()
                .for_each(|op| world.step(op).unwrap_or_else(|what| panic!("{spec}: {what}")));
        }
        let shed = world.reasons();
        let strange = shed.iter().find(|reason| !allowed(&spec.name).contains(reason));
        assert_eq!(strange, None, "{spec} shed for it");
    }
}
