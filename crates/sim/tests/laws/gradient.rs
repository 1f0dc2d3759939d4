//! Gradient2: what is inside stays near half of the objective, for as long as the usual time may not drift.

use super::{CAPACITY_RPS, of_capacity, refused, steady, stepped};

const DEFAULT: &str = "{ name = \"gradient\" }";
const SETTLED: &str = "warm_up = \"2s\"\nduration = \"1s\"";

#[test]
fn below_capacity_nothing_is_shed() {
    let run = steady(DEFAULT, 10, 0.5, "warm_up = \"1s\"\nduration = \"1s\"");
    assert!(refused(&run) < 0.001, "{:?}", run.fates);
}

/// After thousands of windows: a drift of the usual time would show.
#[test]
fn at_twice_capacity_requests_stay_half_of_the_slo_inside_and_the_core_is_busy() {
    let run = steady(DEFAULT, 10, 2.0, SETTLED);
    assert!(run.rates.throughput_rps > 0.95 * CAPACITY_RPS, "{}", run.rates.throughput_rps);
    assert!(
        (70.0..150.0).contains(&run.latency.p50_us) && run.latency.p99_us < 270.0,
        "{} and {} µs",
        run.latency.p50_us,
        run.latency.p99_us
    );
}

#[test]
fn without_the_slo_the_usual_time_drifts_until_the_limit_is_at_its_bound() {
    let drifting = "{ name = \"gradient\", override = { baseline_max = \"never\" } }";
    let run = steady(drifting, 10, 2.0, "warm_up = \"4s\"\nduration = \"100ms\"");
    assert!(
        run.latency.p50_us > 1_500.0,
        "more than 150 requests of 10 µs are inside: {} µs",
        run.latency.p50_us
    );
}

#[test]
fn a_long_stall_is_recovered_from() {
    let steps = "{ of_capacity = 1.5, for = \"600ms\" }, { of_capacity = 0.5, for = \"400ms\" }";
    let stall =
        "fault = { kind = \"server-pause\", at = \"100ms\", for = \"100ms\" }\nwarm_up = \"100ms\"";
    let run = stepped(DEFAULT, 10, steps, stall);
    let (none, after) = (of_capacity(&run, 11, 19), of_capacity(&run, 40, 60));
    assert!(none < 0.01 && after > 0.9, "{none} during the stall, {after} after it");
    let calm = of_capacity(&run, 62, 100);
    assert!(calm > 0.49, "{calm} of the capacity, where half of it is asked");
}
