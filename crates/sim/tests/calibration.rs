//! The paper's testbed in simulation, frozen. `docs/figures.md` says what it was calibrated on: the one
//! capacity that the text of Breakwater states. A change of one cost changes every figure.

use std::time::Duration;
use tailwater_control::catalog::Spec;
use tailwater_sim::{Costs, World, capacity};
use tailwater_workload::{Arrivals, DemandPlan, Scenario, Schedule};

use crate::common::play_schedule;

/// Breakwater §5.2: "around 850k requests per second", exponential service of 10 µs.
const CAPACITY_RPS: f64 = 850_000.0;

fn fig3() -> Scenario {
    let file = "scenarios/paper/fig3.toml";
    Scenario::parse(file, include_str!("../../../scenarios/paper/fig3.toml")).unwrap()
}

#[test]
fn the_costs_are_frozen() {
    let node = World::paper(1).node;
    let ns = Duration::from_nanos;
    assert_eq!(node.costs, Costs { receive: ns(900), send: ns(865), shed: ns(100) });
    assert_eq!((node.cores, node.parse_every), (10, Duration::ZERO));
    let sim = fig3().sim;
    let said = Costs { receive: sim.receive, send: sim.send, shed: sim.shed };
    assert_eq!((said, sim.cores, sim.parse_every), (node.costs, node.cores, node.parse_every));
    assert_eq!(sim.rtt, Duration::from_micros(10));
}

#[test]
fn the_capacity_without_control_is_the_papers() {
    let found = capacity(&fig3(), 1_000).unwrap().0;
    assert!((found / CAPACITY_RPS - 1.0).abs() < 0.01, "{found:.0}/s");
}

/// What §2.2 says of CoDel without a number: the more is asked, the less is served in time, since each
/// reject costs; but most requests are rejected and the server still does work.
#[test]
fn codel_falls_with_demand_and_does_not_collapse() {
    let codel = |demand: f64| {
        let scenario = fig3();
        let mut world = World::paper(1);
        (world.warm_up, world.measure) = (Duration::from_millis(50), Duration::from_millis(150));
        let rate = tailwater_core::Rate(demand * CAPACITY_RPS);
        let plan = DemandPlan::constant(rate, world.warm_up + world.measure, Arrivals::Poisson);
        let schedule = Schedule::build(&plan, world.clients, &scenario.server.service, 1).unwrap();
        let controller = Spec::named("codel").build(&world.node.site(world.slo, 1)).unwrap();
        play_schedule(&world, &schedule, &controller).0.rates.goodput_rps / CAPACITY_RPS
    };
    let (at, half_above, double) = (codel(1.0), codel(1.5), codel(2.0));
    assert!(at > half_above && half_above > double, "{at:.2} {half_above:.2} {double:.2}");
    assert!(at > 0.95 && (0.6..0.9).contains(&double), "{at:.2} {double:.2}");
}
