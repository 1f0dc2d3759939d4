//! Worlds, loads and scenarios that several tests share.
#![allow(dead_code, reason = "each test file uses its own part of this")]

use std::time::Duration;
use tailwater_control::catalog::{Controller, Spec};
use tailwater_core::{Rate, Rng};
use tailwater_sim::{Costs, Intended, Link, Trace, World, simulate};
use tailwater_stats::result::{Experiment, Run};
use tailwater_workload::{Arrivals, DemandPlan, Distribution, Scenario, Schedule, Service, Step};

pub(crate) const SEED: u64 = 20;

pub(crate) const fn us(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

pub(crate) const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// 10 µs, exponentially distributed, as in Breakwater §5.2.
pub(crate) const SERVICE: Service =
    Service { distribution: Distribution::Exponential, mean: us(10) };

/// One core behind loopback with 100 clients, which keeps debug builds quick.
pub(crate) fn small() -> World {
    let mut world = World {
        clients: 100,
        slo: us(400),
        warm_up: ms(200),
        measure: ms(300),
        link: Link { delay: us(15), jitter: us(5) },
        ..World::paper(SEED)
    };
    world.node.cores = 1;
    world.node.costs = Costs {
        receive: Duration::from_nanos(1_700),
        send: Duration::from_nanos(2_700),
        shed: Duration::from_nanos(300),
    };
    world
}

/// Capacity of [`small`]: 14.4 µs for each request.
pub(crate) const SMALL_RPS: f64 = 1e6 / 14.4;

/// A controller by name, profile and overrides as in `beta=0.1`.
pub(crate) fn spec(name: &str, profile: &str, overrides: &[&str]) -> Spec {
    let pair = |text: &&str| {
        let (key, value) = text.split_once('=').expect("key=value");
        (key.to_owned(), value.to_owned())
    };
    Spec {
        name: name.into(),
        profile: profile.into(),
        overrides: overrides.iter().map(pair).collect(),
    }
}

/// Constant demand for the whole run.
pub(crate) fn steady(world: &World, rps: f64, spec: &Spec) -> (Run, Trace) {
    let length = world.warm_up + world.measure;
    stepped(world, &[(rps, length)], spec)
}

/// Demand in steps of so many requests per second, warm-up included.
pub(crate) fn stepped(world: &World, steps: &[(f64, Duration)], spec: &Spec) -> (Run, Trace) {
    let steps = steps.iter().map(|&(rps, length)| Step::steady(Rate(rps), length));
    let plan = DemandPlan { steps: steps.collect(), arrivals: Arrivals::Poisson };
    let schedule = Schedule::build(&plan, world.clients, &SERVICE, world.seed).unwrap();
    let controller = spec.build(&world.node.site(world.slo, SEED)).unwrap();
    play_schedule(world, &schedule, &controller)
}

/// Requests that were drawn before.
pub(crate) fn play_schedule(
    world: &World,
    schedule: &Schedule,
    controller: &Controller,
) -> (Run, Trace) {
    let mut intended = schedule.entries.iter().copied().map(Intended::from);
    simulate(world, &mut intended, controller).unwrap()
}

/// Answers per second with 64 requests always under way, without control.
pub(crate) fn closed_loop(world: &World) -> f64 {
    let controller = spec("none", "default", &[]).build(&world.node.site(world.slo, 1)).unwrap();
    let mut rng = Rng::from_seed(1);
    let mut service = || SERVICE.draw(&mut rng);
    let found = tailwater_sim::closed_loop(world, 64, &mut service, &mut |_| controller.clone());
    found.unwrap().rate.0
}

/// One core without control; clients, demand and capacity are a test's own.
const SCENARIO: &str = r#"
slo = "400us"
warm_up = "20ms"
duration = "100ms"
repetitions = 1
controller = { name = "none" }
server.service = { distribution = "exponential", mean = "10us" }
"#;

/// Runs the common scenario with these lines.
pub(crate) fn play(lines: &[&str]) -> Experiment {
    let text = format!("{SCENARIO}{}", lines.join("\n"));
    let scenario = Scenario::parse("x.toml", &text).unwrap_or_else(|error| panic!("{error}"));
    tailwater_sim::run(&scenario).unwrap()
}
