//! Clients of several servers: what retries bring, what they cost, and what befalls a server of two.

use tailwater_sim::run;
use tailwater_stats::result::{RetryReport, Run};
use tailwater_workload::Scenario;

/// Two servers of one core, 10 µs each, which do some 69,000 requests/s each.
const TEXT: &str = r#"
slo = "800us"
warm_up = "100ms"
duration = "200ms"
repetitions = 1
server.service = { distribution = "exponential", mean = "10us" }
server.replicas = 2
clients.count = 50
clients.retry = { RETRY }
demand.requests_per_second = DEMAND
capacity.fixed_rps = 138_000
sim = { cores = 1, rtt = "30us" }
controller = [{ name = "CONTROLLER" }]
"#;

fn play(retry: &str, demand: u32, faults: &str) -> Run {
    play_under("breakwater", retry, demand, faults)
}

fn play_under(controller: &str, retry: &str, demand: u32, faults: &str) -> Run {
    let text = TEXT.replace("RETRY", retry).replace("DEMAND", &demand.to_string()) + faults;
    let text = text.replace("CONTROLLER", controller);
    let scenario = Scenario::parse("x.toml", &text).unwrap_or_else(|error| panic!("{error}"));
    let mut experiment = run(&scenario).unwrap_or_else(|error| panic!("{error}"));
    experiment.runs.swap_remove(0)
}

fn report(run: &Run) -> RetryReport {
    run.retry.expect("there are replicas")
}

fn in_time(run: &Run) -> f64 {
    run.fates.ok as f64 / run.fates.total() as f64
}

#[test]
fn what_one_server_cannot_do_the_other_does() {
    let said = "tries = 1, first = \"primary\"";
    let alone = play(said, 100_000, "");
    let helped =
        play("tries = 2, credit_wait = \"30us\", budget = 1, first = \"primary\"", 100_000, "");
    assert!(in_time(&alone) < 0.75, "one of two serves: {}", in_time(&alone));
    assert!(in_time(&helped) > 0.97, "both serve: {}", in_time(&helped));
    assert!(report(&helped).moved > 0.2, "{:?}", report(&helped));
    assert_eq!((report(&alone).moved, report(&alone).retried), (0.0, 0.0));
}

#[test]
fn clients_are_spread_without_a_retry_and_need_few() {
    for first in ["own", "least-loaded"] {
        let run = play(&format!("tries = 2, first = \"{first}\""), 100_000, "");
        assert!(in_time(&run) > 0.97, "{first}: {}", in_time(&run));
        assert!(report(&run).retried < 0.05, "{first}: {:?}", report(&run));
    }
}

/// With both full a retry cannot help, and the budget keeps it from doing harm.
#[test]
fn the_budget_bounds_what_a_full_fleet_is_asked_again() {
    // Without credits all that is too much is sent, and shed.
    let play = |retry| report(&play_under("aqm-only", retry, 250_000, ""));
    let free = play("tries = 2, budget = 1, burst = 1_000");
    let bounded = play("tries = 2, budget = 0.01, burst = 1");
    assert!(free.retried > 2.0 * bounded.retried, "{free:?} {bounded:?}");
    assert!(bounded.retried < 0.012 && bounded.over_budget > 0.0, "{bounded:?}");
}

#[test]
fn while_one_server_restarts_the_other_serves_its_clients() {
    let restart = |node: &str| {
        let fault = format!(
            "[[fault]]\nkind = \"server-restart\"\nat = \"50ms\"\nfor = \"50ms\"\n{node}\n"
        );
        in_time(&play("tries = 2", 50_000, &fault))
    };
    let (one, both) = (restart("node = 2"), restart(""));
    assert!(one > 0.97, "{one}");
    assert!((0.4..0.8).contains(&both), "a quarter of the time nobody is there: {both}");
}

/// A front that asks two of three leaves.
const TIERED: &str = r#"
slo = "2ms"
warm_up = "50ms"
duration = "200ms"
repetitions = 1
clients.count = 20
demand.requests_per_second = 20_000
capacity.fixed_rps = 100_000
sim = { cores = 2, rtt = "10us" }
controller = [{ name = "breakwater" }]
[[server.path]]
probability = 1.0
steps = [{ compute = "2us" }, { call = "leaf", fan_out = 2 }]
[[tier]]
name = "leaf"
nodes = 3
service = "5us"
[[fault]]
at = "50ms"
for = "50ms"
"#;

fn tiered(fault: &str) -> Run {
    let text = TIERED.to_owned() + fault;
    let scenario = Scenario::parse("x.toml", &text).unwrap_or_else(|error| panic!("{error}"));
    let mut experiment = run(&scenario).unwrap_or_else(|error| panic!("{error}"));
    experiment.runs.swap_remove(0)
}

#[test]
fn a_leaf_that_restarts_costs_what_it_had_and_the_others_stand_in() {
    let run = tiered("kind = \"server-restart\"\ntier = \"leaf\"\nnode = 1");
    let refused = run.shed_by_reason.get("unavailable").copied().unwrap_or(0);
    assert!((1..200).contains(&refused), "{refused} calls were under way");
    assert!(in_time(&run) > 0.97, "{}", in_time(&run));
    assert_eq!(run.fates.lost, 0, "the front answers for its leaves");
}

#[test]
fn with_all_leaves_gone_the_front_refuses_and_then_serves_again() {
    let run = tiered("kind = \"server-restart\"\ntier = \"leaf\"");
    assert!((0.5..0.8).contains(&in_time(&run)), "a quarter of the time: {}", in_time(&run));
    assert_eq!(run.fates.lost, 0);
}

#[test]
fn a_front_that_restarts_connects_to_its_leaves_anew() {
    let run = tiered("kind = \"server-restart\"");
    assert!(run.fates.lost > 0, "what was under way got no answer");
    assert!((0.5..0.8).contains(&in_time(&run)), "{}", in_time(&run));
}

#[test]
fn a_tier_that_pauses_delays_and_loses_nothing() {
    let run = tiered("kind = \"server-pause\"\ntier = \"leaf\"");
    assert_eq!(run.fates.lost, 0);
    assert!((0.5..0.8).contains(&in_time(&run)), "{}", in_time(&run));
}
