//! A machine that takes cores away, each for itself, now and then.

use crate::common;
use std::time::Duration;
use tailwater_sim::{Costs, World};
use tailwater_stats::result::Experiment;
use tailwater_workload::scenario::{StallKind, Stalls};

use crate::common::{closed_loop, ms, play, small, spec, steady, us};

fn stalls(per_second: f64, length: Duration) -> Stalls {
    Stalls::from(StallKind { per_second, lengths: vec![length] })
}

#[test]
fn cores_lose_the_share_of_their_time_that_stalls_take() {
    for cores in [1, 4] {
        let mut world = World { measure: Duration::from_secs(1), ..small() };
        world.node.cores = cores;
        let calm = closed_loop(&world);
        world.node.stalls = stalls(100.0, ms(2));
        let stalled = closed_loop(&world);
        let share = stalled / calm;
        assert!((0.77..0.83).contains(&share), "{cores} cores: {share:.3} of {calm:.0}");
    }
}

/// A host takes one core at a time: the others serve on, and only what that one had begun waits.
#[test]
fn cores_stall_each_for_itself() {
    let mut world = World { measure: Duration::from_secs(1), ..small() };
    world.node.cores = 4;
    world.node.stalls = stalls(50.0, ms(2));
    let none = spec("none", "default", &[]);
    let (run, _) = steady(&world, 60_000.0, &none);
    let late = run.fates.late as f64 / run.fates.total() as f64;
    // A tenth of the time each is away; together, a tenth of all requests would be late.
    assert!((0.0001..0.02).contains(&late), "{late:.4} are late");
}

#[test]
fn what_has_no_bound_on_delay_shows_the_stalls_in_its_tail() {
    let mut world = World { measure: Duration::from_secs(1), ..small() };
    let dagor = spec("dagor", "default", &[]);
    let p99_us = |world: &World| steady(world, 2.0 * common::SMALL_RPS, &dagor).0.latency.p99_us;
    let calm_us = p99_us(&world);
    world.node.stalls = stalls(5.0, ms(3));
    let stalled_us = p99_us(&world);
    assert!(calm_us < 1_000.0 && stalled_us > 1_000.0, "{calm_us} µs, {stalled_us} µs");
}

#[test]
fn a_result_says_with_which_stalls_it_was_simulated() {
    let half = "clients.count = 20\ndemand.of_capacity = 0.5\ncapacity.fixed_rps = 60_000";
    let calm = play(&[half]);
    assert!(calm.manifest.stalls.is_empty());
    let result = play(&[half, "sim.stalls = { per_second = 100, lengths = [\"1ms\", \"3ms\"] }"]);
    let [kind] = &result.manifest.stalls[..] else { panic!("{:?}", result.manifest) };
    assert_eq!((kind.per_second, &kind.lengths_us[..]), (100.0, &[1_000.0, 3_000.0][..]));
    assert!((result.manifest.stalled_share() - 0.2).abs() < 1e-9);
    let in_time = |result: &Experiment| {
        let fates = result.runs[0].fates;
        fates.ok as f64 / fates.total() as f64
    };
    let (calm, stalled) = (in_time(&calm), in_time(&result));
    assert!(calm > 0.99 && stalled < 0.9, "{calm} and {stalled} are in time");
}

/// Without stalls nothing of a run changes, and with them everything is decided by the seed.
#[test]
fn stalls_come_by_the_seed() {
    let world = |seed| World { seed, node: small().node, ..small() };
    let run = |seed, stalls: &Stalls| {
        let mut world = world(seed);
        world.node.stalls = stalls.clone();
        let (run, trace) = steady(&world, 60_000.0, &spec("none", "default", &[]));
        (run.fates, run.latency.p999_us.to_bits(), trace.events)
    };
    let often = stalls(50.0, us(500));
    assert_eq!(run(1, &often), run(1, &often));
    assert_ne!(run(1, &often), run(2, &often));
    assert_ne!(run(1, &often), run(1, &Stalls::default()));
}

/// A core that was taken away while it parsed a DEREGISTER heard it after the request behind it, which another
/// core had parsed: an honest client was refused, and the run ended with a broken rule.
#[test]
fn a_connections_messages_are_heard_in_order_also_where_a_core_stalls() {
    let briefly = ["deregister_after=50us", "queue_max=4"];
    let artifact = spec("breakwater", "artifact", &briefly);
    for seed in 1..=20 {
        let mut world = World { clients: 8, warm_up: ms(0), measure: ms(20), seed, ..small() };
        world.node.cores = 2;
        world.node.costs = Costs { receive: us(3), send: us(0), shed: us(0) };
        world.node.stalls = stalls(1_000.0, us(250));
        steady(&world, 60_000.0, &artifact);
    }
}
