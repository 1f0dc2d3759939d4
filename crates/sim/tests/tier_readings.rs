//! What results tell of each tier.

use tailwater_stats::result::{Run, TierReading};
use tailwater_workload::Scenario;

/// Each request asks two of three leaves.
fn run(demand: &str, controller: &str) -> Run {
    let text = format!(
        r#"
slo = "1ms"
warm_up = "100ms"
duration = "1s"
repetitions = 1
clients.count = 20
demand.requests_per_second = {demand}
capacity.fixed_rps = 40000
controller = {{ name = "{controller}" }}
sim = {{ cores = 1, receive = "1us", send = "1us" }}
[[server.path]]
probability = 1.0
steps = [{{ compute = "3us" }}, {{ call = "leaf", fan_out = 2 }}]
[[tier]]
name = "leaf"
nodes = 3
service = "20us"
"#
    );
    let scenario = Scenario::parse("tiers.toml", &text).unwrap_or_else(|error| panic!("{error}"));
    let experiment = tailwater_sim::run(&scenario).unwrap_or_else(|error| panic!("{error}"));
    experiment.runs[0].clone()
}

fn near(found: Option<f64>, expected: f64) -> bool {
    found.is_some_and(|found| (found / expected - 1.0).abs() < 0.03)
}

/// Of the simulator, which knows it.
fn received(tier: &TierReading) -> f64 {
    tier.received_rps.expect("the simulator counts")
}

#[test]
fn leaves_receive_what_the_front_asks_and_are_busy_for_their_work() {
    let run = run("10000", "none");
    let [front, leaf] = &run.tiers[..] else { panic!("{:?}", run.tiers) };
    assert_eq!((&*front.tier, front.nodes, &*leaf.tier, leaf.nodes), ("", 1, "leaf", 3));
    assert!(near(front.received_rps, run.rates.offered_rps), "{front:?}");
    assert!(near(leaf.received_rps, 2.0 * received(front)), "{leaf:?}");
    assert!(near(leaf.served_rps, received(leaf)), "{leaf:?}");
    // Work, a message in and a message out.
    assert!(near(leaf.cpu_ns_per_request, 22_000.0), "{leaf:?}");
    assert!(near(leaf.cores_used, received(leaf) * 22e-6), "{leaf:?}");
    assert!(near(front.cpu_ns_per_request, run.server.cpu_ns_per_request), "{front:?}");
    assert_eq!((leaf.drop_ratio, leaf.memory_bytes), (Some(0.0), 0));
}

#[test]
fn sheds_are_told_of_the_tier_that_refused() {
    let run = run("120000", "aqm-only");
    let leaf: &TierReading = &run.tiers[1];
    assert!(leaf.drop_ratio > Some(0.05), "{leaf:?}");
    let of_reasons: u64 = leaf.shed_by_reason.values().sum();
    let share = of_reasons as f64 / received(leaf);
    assert!(near(leaf.drop_ratio, share), "{leaf:?}");
    assert!(leaf.cores_used.is_some_and(|cores| cores <= 3.01), "{leaf:?}");
}
