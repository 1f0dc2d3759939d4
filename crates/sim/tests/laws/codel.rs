//! CoDel: what stands in the queue is bounded, by the law slowly and by the ceiling at once.

use super::{CAPACITY_RPS, in_time, steady, stepped};
use tailwater_stats::result::Run;

const PAPER: &str = "{ name = \"codel\", profile = \"paper\" }";
const DEFAULT: &str = "{ name = \"codel\" }";

fn at(controller: &str, demand: f64) -> Run {
    steady(controller, 10, demand, "warm_up = \"200ms\"\nduration = \"400ms\"")
}

#[test]
fn at_half_load_nothing_is_shed() {
    let run = at(PAPER, 0.5);
    assert!(run.fates.ok > 18_000 && run.fates.shed < 5, "{:?}", run.fates);
    // Half of the objective as a wait is rare at half load, but possible.
    let run = at(DEFAULT, 0.5);
    assert!(run.fates.ok > 18_000 && run.fates.shed < 20, "{:?}", run.fates);
}

#[test]
fn at_twice_the_load_half_is_shed_and_waits_settle_between_target_and_ceiling() {
    let run = at(DEFAULT, 2.0);
    assert!((90.0..180.0).contains(&run.latency.p50_us), "{} µs", run.latency.p50_us);
    assert!(run.latency.p99_us < 310.0, "{} µs", run.latency.p99_us);
    assert!(run.refusals.drop_ratio > 0.47, "{}", run.refusals.drop_ratio);
    // Refusals cost nothing here: the server is never idle.
    assert!(run.rates.throughput_rps > 0.95 * CAPACITY_RPS, "{}", run.rates.throughput_rps);
}

#[test]
fn the_law_alone_holds_a_load_that_does_not_react_but_far_above_the_target() {
    let (alone, tuned) = (at(PAPER, 2.0), at(DEFAULT, 2.0));
    assert!(alone.refusals.drop_ratio > 0.45, "{}", alone.refusals.drop_ratio);
    assert!((160.0..2_000.0).contains(&alone.latency.p50_us), "{} µs", alone.latency.p50_us);
    let (alone, tuned) = (alone.rates.goodput_rps, tuned.rates.goodput_rps);
    assert!(tuned > 3.0 * alone, "{tuned} and {alone} in time");
}

#[test]
fn overload_is_forgotten_when_it_is_over() {
    let steps = "{ of_capacity = 3.0, for = \"100ms\" }, { of_capacity = 0.5, for = \"100ms\" }";
    let run = stepped(DEFAULT, 10, steps, "warm_up = \"0s\"");
    assert!(run.fates.shed > 10_000, "{:?}", run.fates);
    assert!(in_time(&run, 11, 20) > 0.9995, "{}", in_time(&run, 11, 20));
}
