//! Under every policy of locks, and with a front that pauses, no check fires.

use super::*;
use crate::experiment::world_of;
use tailwater_control::asqm::{Asqm, Policy};
use tailwater_control::catalog::Spec;
use tailwater_workload::{Distribution, Scenario, Service, Stream};

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
[[fault]]
kind = "server-pause"
at = "3ms"
for = "1ms"
[[server.path]]
probability = 0.5
steps = [{ compute = "1us" }, { lock = "outer", among = 10, steps = [
             { compute = "1us" }, { lock = "inner", hold = "9us" }] }]
[[server.path]]
probability = 0.5
steps = [{ lock = "inner", hold = "9us" }]
"#;

/// What the checks say of a run under this policy.
fn complaint(policy: Policy) -> Option<Broken> {
    let scenario = Scenario::parse("x.toml", TEXT).unwrap();
    let configuration = scenario.configurations().remove(0);
    let mut world: World = world_of(&scenario, &configuration, 1);
    Arc::make_mut(world.node.paths.as_mut().unwrap()).policy = policy;
    let plan = configuration.demand_plan(tailwater_core::Rate(0.0));
    let nothing = Service { distribution: Distribution::Constant, mean: Duration::ZERO };
    let stream = Stream::new(&plan, world.clients, &nothing, 1).unwrap();
    let controller = Spec::named("none").build(&world.node.site(world.slo, 1)).unwrap();
    simulate(&world, &mut stream.map(Intended::from), &controller).err()
}

#[test]
fn no_check_fires_under_any_policy() {
    for policy in [
        Policy::Plain,
        Policy::Try,
        Policy::Timed(Duration::from_micros(20)),
        Policy::Asqm(Asqm::PAPER),
        Policy::Asqm(Asqm::ARTIFACT),
        Policy::Asqm(Asqm::DEFAULT),
    ] {
        assert_eq!(complaint(policy), None, "{policy:?}");
    }
}

#[test]
fn a_refusal_is_no_answer_of_a_closed_loop() {
    let scenario = Scenario::parse("x.toml", TEXT).unwrap();
    let mut world = world_of(&scenario, &scenario.configurations().remove(0), 1);
    let controller = Spec::named("none").build(&world.node.site(world.slo, 1)).unwrap();
    world.node.queue_max = 0;
    let played = closed_loop(&world, 16, &mut || Duration::ZERO, &mut |_| controller.clone());
    let found = played.unwrap();
    assert!(found.rate.0 == 0.0 && found.refused > 0, "{found:?}");
}

/// Wherever the run ends, who was handed a lock and waits to run before all others is still there.
#[test]
fn holders_that_run_first_are_found_at_the_end() {
    let text = TEXT.replace("cores = 4", "cores = 2");
    let scenario = Scenario::parse("x.toml", &text).unwrap();
    let mut world = world_of(&scenario, &scenario.configurations().remove(0), 1);
    let controller = Spec::named("none").build(&world.node.site(world.slo, 1)).unwrap();
    world.drain = Duration::ZERO;
    for _ in 0..64 {
        world.measure += Duration::from_nanos(7_919);
        let played = closed_loop(&world, 16, &mut || Duration::ZERO, &mut |_| controller.clone());
        assert_eq!(played.err(), None, "{:?}", world.measure);
    }
}

/// A front whose call to a leaf is late after 300 µs.
const HEDGED: &str = r#"
slo = "20ms"
warm_up = "1ms"
duration = "10ms"
clients.count = 1
demand.requests_per_second = 100
controller = { name = "none" }
sim = { cores = 1, rtt = "30us" }
[[server.path]]
probability = 1.0
steps = [{ compute = "5us" }, { call = "leaf" }]
[[tier]]
name = "leaf"
replicas = 2
service = "SERVICE"
hedge = { after = "300us", share = 1 }
[[fault]]
kind = "server-pause"
at = "1100us"
for = "PAUSE"
"#;

/// Second tries of a call that takes so long, while its caller stands still for so long as it is late.
fn second_tries(service: &str, pause: &str) -> f64 {
    let text = HEDGED.replace("SERVICE", service).replace("PAUSE", pause);
    let scenario = Scenario::parse("x.toml", &text).unwrap();
    let world = world_of(&scenario, &scenario.configurations().remove(0), 1);
    let mut build = |_: usize| Spec::named("none").build(&world.node.site(world.slo, 1)).unwrap();
    // 100 µs before the pause.
    let at = Instant::ZERO + Duration::from_millis(2);
    let due = Intended { at, client: 0, service: Duration::ZERO };
    let (run, _) = simulate_with(&world, &mut [due].into_iter(), &mut build).unwrap();
    // Where there was none, nothing is told.
    run.tiers[1].hedges.map_or(0.0, |it| it.sent_per_s) * world.measure.as_secs_f64()
}

/// Such calls had no second try at all. The rule is the runtime's.
#[test]
fn a_call_that_is_late_while_its_caller_stands_still_is_looked_at_when_that_goes_on() {
    for (service, pause, sent) in [
        // What came meanwhile is heard first.
        ("250us", "400us", 0.0),
        ("1ms", "400us", 1.0),
        // It is waited for anew, and answered by then.
        ("1ms", "900us", 0.0),
        ("2ms", "900us", 1.0),
    ] {
        let found = second_tries(service, pause);
        assert!((found - sent).abs() < 0.01, "{service}, a pause of {pause}: {found}");
    }
}
