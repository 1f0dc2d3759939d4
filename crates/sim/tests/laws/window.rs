//! The window: few clients find the rate, and many overload the server with one request each.

use super::{CAPACITY_RPS, of_capacity, refused, steady, stepped};

const PAPER: &str = "{ name = \"window\", profile = \"paper\" }";
const DEFAULT: &str = "{ name = \"window\" }";

#[test]
fn below_capacity_nothing_is_limited() {
    for controller in [PAPER, DEFAULT] {
        let run = steady(controller, 10, 0.5, "warm_up = \"100ms\"\nduration = \"500ms\"");
        assert!(refused(&run) < 0.001, "{controller}: {:?}", run.fates);
        assert!(run.latency.p50_us < 60.0, "{controller}: {} µs", run.latency.p50_us);
    }
}

#[test]
fn at_twice_capacity_few_clients_keep_the_core_busy_and_the_tail_near_the_target() {
    for controller in [PAPER, DEFAULT] {
        let run = steady(controller, 5, 2.0, "warm_up = \"500ms\"\nduration = \"500ms\"");
        let served = run.rates.throughput_rps / CAPACITY_RPS;
        assert!(served > 0.9, "{controller}: {served} of capacity");
        assert!(run.latency.p99_us < 600.0, "{controller}: {} µs", run.latency.p99_us);
    }
}

/// The known weakness (OSDI '20 §2, Fig. 1): it must show.
#[test]
fn more_clients_than_the_target_has_room_for_overload_the_server_at_one_each() {
    let run = steady(DEFAULT, 100, 4.0, "warm_up = \"200ms\"\nduration = \"200ms\"");
    assert!(run.latency.p50_us > 400.0, "{} µs", run.latency.p50_us);
}

#[test]
fn a_long_stall_is_recovered_from() {
    let stall =
        "fault = { kind = \"server-pause\", at = \"100ms\", for = \"100ms\" }\nwarm_up = \"200ms\"";
    for controller in [PAPER, DEFAULT] {
        let run = stepped(controller, 5, "{ of_capacity = 1.5, for = \"1s\" }", stall);
        let (before, after) = (of_capacity(&run, 0, 10), of_capacity(&run, 50, 100));
        assert!(after > 0.9 * before, "{controller}: {before} of capacity before, {after} after");
    }
}
