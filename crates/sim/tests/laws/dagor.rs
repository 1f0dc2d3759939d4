//! DAGOR: the mean wait settles at its limit, most of what is too much never leaves its client, and both are forgotten.

use super::{CAPACITY_RPS, in_time, refused, steady, stepped};
use tailwater_stats::result::Run;

const PAPER: &str = "{ name = \"dagor\", profile = \"paper\" }";
const ARTIFACT: &str = "{ name = \"dagor\", profile = \"artifact\" }";
const DEFAULT: &str = "{ name = \"dagor\" }";
/// 35 % of the objective, as published, and what network and service take.
const LIMIT_US: f64 = 70.0 + 20.0;

fn at(controller: &str, clients: u32, demand: f64) -> Run {
    steady(controller, clients, demand, "warm_up = \"300ms\"\nduration = \"300ms\"")
}

fn is_near_the_limit(run: &Run) -> bool {
    (0.5..1.5).contains(&(run.latency.p50_us / LIMIT_US))
}

#[test]
fn at_half_load_next_to_nothing_is_refused() {
    // A mean or smoothed delay at the limit happens at half load too, for a moment, and an update then costs 5 %.
    for controller in [DEFAULT, PAPER] {
        let run = at(controller, 100, 0.5);
        assert!(refused(&run) < 0.01, "{controller}: {:?}", run.fates);
    }
    let patient = "{ name = \"dagor\", override = { delay_limit = \"200us\" } }";
    assert_eq!(refused(&at(patient, 100, 0.5)), 0.0);
}

#[test]
fn at_twice_the_load_waits_settle_around_the_limit_and_most_never_leave_their_clients() {
    for controller in [PAPER, ARTIFACT, DEFAULT] {
        for clients in [10, 1_000] {
            let run = at(controller, clients, 2.0);
            let found = format!(
                "{clients} clients, {controller}: {} µs, {:?}",
                run.latency.p50_us, run.fates
            );
            assert!(is_near_the_limit(&run), "{found}");
            assert!(run.rates.throughput_rps > 0.75 * CAPACITY_RPS, "{found}");
            assert!(run.fates.expired > 5 * run.fates.shed, "{found}");
        }
    }
}

/// They probe after any silence: whatever threshold they hear of, they send.
#[test]
fn clients_that_do_not_listen_are_shed_by_the_server() {
    let deaf = "{ name = \"dagor\", override = { probe_after = \"1ns\" } }";
    let run = at(deaf, 100, 2.0);
    assert_eq!(run.fates.expired, 0, "{:?}", run.fates);
    assert!(
        run.refusals.drop_ratio > 0.45 && is_near_the_limit(&run),
        "{} µs, {:?}",
        run.latency.p50_us,
        run.fates
    );
}

#[test]
fn a_spike_is_forgotten_once_it_is_over() {
    for controller in [PAPER, DEFAULT] {
        let steps =
            "{ of_capacity = 4.0, for = \"200ms\" }, { of_capacity = 0.4, for = \"600ms\" }";
        let run = stepped(controller, 100, steps, "warm_up = \"0s\"");
        assert!(run.fates.shed + run.fates.expired > 40_000, "{controller}: {:?}", run.fates);
        assert!(in_time(&run, 50, 80) > 0.99, "{controller}: {}", in_time(&run, 50, 80));
    }
}

/// Without the histogram's view of hidden levels, ten attentive clients make the original law open wholly after each
/// calm window: the reason for `unseen`.
#[test]
fn the_letter_of_the_histogram_opens_too_far_where_clients_listen() {
    let letter = "{ name = \"dagor\", override = { unseen = \"as-arrived\" } }";
    let (letter, tuned) = (at(letter, 10, 2.0).latency.p50_us, at(DEFAULT, 10, 2.0).latency.p50_us);
    assert!(letter > 3.0 * tuned, "{letter} and {tuned} µs");
}
