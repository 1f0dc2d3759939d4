//! SEDA: each client finds its rate by the tail that it sees.

use super::{CAPACITY_RPS, of_capacity, refused, steady, stepped};

const PAPER: &str = "{ name = \"seda\", profile = \"paper\" }";
const DEFAULT: &str = "{ name = \"seda\" }";
/// How long a hundred clients need from the published first rates to 1,000 requests per second each.
const CONVERGED: &str = "warm_up = \"4s\"\nduration = \"1s\"";

#[test]
fn below_capacity_nothing_is_limited() {
    for controller in [PAPER, DEFAULT] {
        let run = steady(controller, 100, 0.5, CONVERGED);
        assert!(refused(&run) < 0.2, "{controller}: {:?}", run.fates);
        assert!(run.latency.p50_us < 60.0, "{controller}: {} µs", run.latency.p50_us);
    }
}

#[test]
fn at_twice_capacity_the_response_time_settles_near_the_target() {
    for (controller, least) in [(PAPER, 0.7), (DEFAULT, 0.75)] {
        let run = steady(controller, 100, 2.0, CONVERGED);
        let served = run.rates.throughput_rps / CAPACITY_RPS;
        let found = format!(
            "{controller}: {served} of capacity, {} and {} µs",
            run.latency.p50_us, run.latency.p99_us
        );
        assert!(served > least, "{found}");
        // Calls wait at the client up to a share of the objective.
        assert!(run.latency.p50_us < 120.0 && run.latency.p99_us < 350.0, "{found}");
    }
}

#[test]
fn a_long_stall_is_recovered_from() {
    let stall =
        "fault = { kind = \"server-pause\", at = \"100ms\", for = \"100ms\" }\nwarm_up = \"4s\"";
    for controller in [PAPER, DEFAULT] {
        let run = stepped(controller, 100, "{ of_capacity = 1.5, for = \"3200ms\" }", stall);
        let after = of_capacity(&run, 220, 320);
        assert!(after > 0.65, "{controller}: {after} of capacity in time");
    }
}

/// Each client knows itself alone: a thousand begin with a twentieth of the server's capacity. With rates that suit a
/// hundred they begin with four times of it.
#[test]
fn a_crowd_does_not_begin_with_an_overload() {
    let eager =
        "{ name = \"seda\", override = { rate_initial_min = 250, rate_initial_max = 500 } }";
    // Each has one token to begin with.
    let p99_us = |controller| {
        steady(controller, 1_000, 2.0, "warm_up = \"20ms\"\nduration = \"400ms\"").latency.p99_us
    };
    let (tuned, eager) = (p99_us(DEFAULT), p99_us(eager));
    assert!(tuned < 250.0 && eager > 10_000.0, "p99 {tuned} and {eager} µs");
}
