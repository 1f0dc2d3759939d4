//! Defects that are planted on purpose, each found by the check that is there for it.

use super::*;
use crate::node::walk::Planted;
use crate::world::World;
use std::sync::Arc;
use tailwater_control::asqm::{Asqm, Policy};
use tailwater_control::catalog::Spec;
use tailwater_workload::{Distribution, Scenario, Schedule, Service};

/// Two nested locks, so that a request can be refused while it holds one.
const TEXT: &str = r#"
slo = "100us"
warm_up = "1ms"
duration = "10ms"
clients.count = 20
demand.requests_per_second = 150_000
controller = { name = "none" }
sim = { cores = 4 }
[server.locks]
budget = "50us"
[[server.path]]
probability = 0.5
steps = [{ compute = "1us" }, { lock = "outer", among = 10, steps = [
             { compute = "1us" }, { lock = "inner", hold = "9us" }] }]
[[server.path]]
probability = 0.5
steps = [{ lock = "inner", hold = "9us" }]
"#;

/// What the checks say of a run with this defect.
fn complaint(planted: Option<Planted>, policy: Policy) -> Option<String> {
    let scenario = Scenario::parse("x.toml", TEXT).unwrap();
    let configuration = scenario.configurations().remove(0);
    let mut world: World = crate::experiment::world_of(&scenario, &configuration, 1);
    Arc::make_mut(world.node.paths.as_mut().unwrap()).policy = policy;
    let controller = Spec::named("none").build(world.slo, 1, 1).unwrap();
    let mut simulation = Simulation::new(&world, &controller, &[]);
    simulation.topology.nodes[0].walk.as_mut().unwrap().planted = planted;
    let plan = configuration.demand_plan(tailwater_core::Rate(0.0));
    let nothing = Service { distribution: Distribution::Constant, mean: Duration::ZERO };
    let schedule = Schedule::build(&plan, world.clients, &nothing, 1).unwrap();
    let mut intended = schedule.entries.iter().map(|entry| Intended {
        at: Instant::from_nanos(entry.at),
        client: entry.client,
        service: Duration::ZERO,
    });
    simulation.run(Load::Open(&mut intended));
    simulation.finish(&world).err().map(|broken| broken.what)
}

#[test]
fn without_a_defect_no_check_fires_under_any_policy() {
    for policy in [
        Policy::Plain,
        Policy::Try,
        Policy::Timed(Duration::from_micros(20)),
        Policy::Asqm(Asqm::PAPER),
        Policy::Asqm(Asqm::ARTIFACT),
        Policy::Asqm(Asqm::DEFAULT),
    ] {
        assert_eq!(complaint(None, policy), None, "{policy:?}");
    }
}

#[test]
fn each_planted_defect_is_found_in_the_first_run() {
    for (planted, words) in [
        (Planted::KeepsLocks, "answered while it holds 1 locks"),
        (Planted::ForgetsWaits, "its budget and work account for"),
        (Planted::NeverGivesUp, "beyond its budget"),
        (Planted::LosesWakeUps, "by a request that is not there"),
    ] {
        let found = complaint(Some(planted), Policy::Asqm(Asqm::DEFAULT)).unwrap_or_default();
        assert!(found.contains(words), "{planted:?}: {found:?}");
    }
}

#[test]
fn a_world_with_more_nodes_than_controllers_says_so() {
    let mut world = World { measure: Duration::from_millis(1), ..World::paper(1) };
    world.warm_up = Duration::ZERO;
    let node = world.node.clone();
    world.tiers.push(crate::world::TierSpec {
        name: "leaf".into(),
        node,
        nodes: 2,
        connections: 1,
    });
    let controller = Spec::named("none").build(world.slo, 1, 1).unwrap();
    let broken = simulate(&world, Load::Open(&mut std::iter::empty()), &controller).unwrap_err();
    assert!(broken.what.contains("2 nodes, but 0 controllers"), "{}", broken.what);
}
