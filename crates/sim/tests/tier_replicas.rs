//! Replicas behind a front: where calls go, what is tried twice, and what befalls one of two.

use tailwater_sim::run;
use tailwater_stats::result::{Run, TierReading};
use tailwater_workload::Scenario;

/// A front that asks one of two leaves, each of two servers.
const TEXT: &str = r#"
slo = "5ms"
warm_up = "200ms"
duration = "1s"
repetitions = 1
clients.count = 20
demand.requests_per_second = 2000
capacity.fixed_rps = 20000
controller = { name = "none" }
sim = { cores = 1, rtt = "30us" }
[[server.path]]
probability = 1.0
steps = [{ compute = "5us" }, { call = "leaf" }]
[[tier]]
name = "leaf"
nodes = 2
service = "100us"
"#;

/// `change` makes another scenario of it.
fn play_changed(change: impl Fn(String) -> String) -> Run {
    let text = change(TEXT.to_owned());
    let scenario = Scenario::parse("x.toml", &text).unwrap_or_else(|error| panic!("{error}"));
    let mut experiment = run(&scenario).unwrap_or_else(|error| panic!("{error}"));
    experiment.runs.swap_remove(0)
}

fn received(tier: &TierReading) -> f64 {
    tier.received_rps.expect("the simulator counts")
}

fn play(more: &str) -> Run {
    play_changed(|text| text + more)
}

/// The second server of each leaf computes at a tenth of its speed.
const SLOW: &str = r#"
[[fault]]
kind = "server-slow"
tier = "leaf"
node = 2
speed = 0.1
at = "0s"
for = "5s"
[[fault]]
kind = "server-slow"
tier = "leaf"
node = 4
speed = 0.1
at = "0s"
for = "5s"
"#;

#[test]
fn what_is_late_at_one_server_is_answered_by_the_other() {
    let alone = play(&format!("replicas = 2\n{SLOW}"));
    let hedged = format!("replicas = 2\nhedge = {{ after = \"300us\", share = 1 }}\n{SLOW}");
    let hedged = play(&hedged);
    assert_eq!(alone.fates.total(), hedged.fates.total(), "the same requests");
    assert_eq!(hedged.fates.lost + hedged.fates.shed, 0, "{:?}", hedged.fates);
    assert!(
        2.0 * hedged.latency.p99_us < alone.latency.p99_us,
        "{} and {}",
        hedged.latency.p99_us,
        alone.latency.p99_us
    );
    let [leaf, calm] = [&hedged, &alone].map(|run| &run.tiers[1]);
    assert_eq!((leaf.nodes, calm.hedges), (4, None), "all servers, and no second tries");
    let told = leaf.hedges.expect("second tries");
    assert!(told.won_per_s > 0.0 && told.won_per_s <= told.sent_per_s, "{told:?}");
    // Each is a request to a server.
    let more = received(leaf) - received(calm);
    assert!((more - told.sent_per_s).abs() <= 0.02 * received(leaf), "{more}, {told:?}");
}

#[test]
fn a_budget_bounds_second_tries() {
    let bounded =
        format!("replicas = 2\nhedge = {{ after = \"300us\", share = 0.01, burst = 1 }}\n{SLOW}");
    let told = play(&bounded).tiers[1].hedges.expect("second tries");
    assert!(told.sent_per_s < 0.015 * 2_000.0, "{told:?}");
    assert!(told.over_budget_per_s > told.sent_per_s, "{told:?}");
}

#[test]
fn while_one_server_is_away_the_other_serves() {
    let restart = "[[fault]]\nkind = \"server-restart\"\ntier = \"leaf\"\nnode = 1\nat = \"200ms\"\nfor = \"400ms\"\n";
    // Each request needs both leaves.
    let both = |text: String| text.replace("call = \"leaf\"", "call = \"leaf\", fan_out = 2");
    let play = |more: &str| play_changed(|text| both(text) + more);
    let (alone, replicated) = (play(restart), play(&format!("replicas = 2\n{restart}")));
    assert_eq!(alone.fates.total(), replicated.fates.total());
    let refused = |run: &Run| run.fates.total() - run.fates.ok;
    assert!(refused(&alone) > 20, "calls to it wait or are refused: {:?}", alone.fates);
    assert!(4 * refused(&replicated) < refused(&alone), "{:?}", replicated.fates);
}

/// More than all servers of the leaves can do: each call that was refused is one more request to another server, as far as
/// the budget of a tenth goes.
#[test]
fn what_one_server_refuses_is_tried_at_another_within_the_budget() {
    let codel = "controller = { name = \"codel\" }\n";
    let requests_per_call = |replicas: &str, demand: &str| {
        let run = play_changed(|text| text.replace("= 2000\n", demand) + replicas + codel);
        assert!(run.fates.shed > 100, "{:?}", run.fates);
        received(&run.tiers[1]) / received(&run.tiers[0])
    };
    let alone = requests_per_call("", "= 24000\n");
    assert!((alone - 1.0).abs() < 0.01, "nothing is tried twice: {alone}");
    let both = requests_per_call("replicas = 2\n", "= 48000\n");
    assert!(both > 1.03 && both < 1.11, "{both}");
}
