//! The window's gate by itself and in a closed loop.

use super::*;
use crate::client::{Call, Gate, Permit, Reply};
use crate::seda::harness::Loop;
use crate::server::{Offer, Outcome, Reason};
use std::time::Duration;
use tailwater_core::{Instant, RequestId, Stamp};

const SLO: Duration = Duration::from_micros(200);
const CALL: Call = Call { id: RequestId(1), deadline: None, priority: 128 };

fn reply(outcome: Outcome, elapsed: Duration) -> Reply {
    let (offer, stamp, waited) = (Offer::OPEN, Stamp(0), Duration::ZERO);
    Reply { outcome, offer, stamp, elapsed, sojourn: elapsed, waited }
}

#[test]
fn late_replies_and_rejects_close_the_gate_down_to_one_and_no_further() {
    let now = Instant::from_nanos(1_000_000_000);
    for bad in [
        reply(Outcome::Served, SLO + Duration::from_nanos(1)),
        reply(Outcome::Shed(Reason::Limit), Duration::from_micros(1)),
    ] {
        let mut gate = WindowGate::new(Config::paper(SLO));
        (0..60).for_each(|_| gate.on_reply(now, &reply(Outcome::Served, SLO)));
        assert!(gate.window() >= 10, "{}", gate.window());
        assert_eq!(gate.permit(now, &CALL, 9), Permit::Send);
        (0..60).for_each(|_| gate.on_reply(now, &bad));
        assert_eq!(gate.permit(now, &CALL, 1), Permit::Wait);
        assert_eq!(gate.permit(now, &CALL, 0), Permit::Send);
    }
}

#[test]
fn a_lost_connection_starts_over() {
    let mut gate = WindowGate::new(Config::paper(SLO));
    (0..60).for_each(|_| gate.on_reply(Instant::ZERO, &reply(Outcome::Served, SLO)));
    gate.on_disconnected();
    assert_eq!(gate.window(), 1);
}

fn closed_loop(config: Config, clients: usize) -> Loop {
    Loop::new(clients, move |_| Box::new(WindowGate::new(config)))
}

#[test]
fn below_capacity_nothing_is_limited() {
    for config in [Config::paper(SLO), Config::tuned(SLO)] {
        let mut system = closed_loop(config, 10);
        system.run(0.5, Duration::from_millis(100));
        let mut seen = system.run(0.5, Duration::from_millis(500));
        let share = seen.dropped as f64 / seen.called as f64;
        assert!(share < 0.001, "{share} dropped by {config:?}");
        assert!(seen.percentile_us(0.5) < 60.0);
    }
}

#[test]
fn at_twice_capacity_the_response_time_settles_near_the_target() {
    for config in [Config::paper(SLO), Config::tuned(SLO)] {
        let mut system = closed_loop(config, 5);
        system.run(2.0, Duration::from_millis(500));
        let mut seen = system.run(2.0, Duration::from_millis(500));
        let throughput = seen.response_us.len() as f64 / 50_000.0;
        let target = config.target.as_secs_f64() * 1e6;
        let (p50, p99) = (seen.percentile_us(0.5), seen.percentile_us(0.99));
        assert!(throughput > 0.9, "{throughput}, {config:?}");
        assert!(p50 < 1.1 * target && p99 < 2.5 * target, "p50 {p50}, p99 {p99} µs, {config:?}");
    }
}

#[test]
fn more_clients_than_the_target_has_room_for_overload_the_server_at_one_each() {
    let mut system = closed_loop(Config::tuned(SLO), 100);
    system.run(4.0, Duration::from_millis(200));
    let mut seen = system.run(4.0, Duration::from_millis(200));
    assert!(seen.percentile_us(0.5) > 400.0, "the known weakness (§2, Fig. 1): it must show");
}

#[test]
fn a_long_stall_is_recovered_from() {
    for config in [Config::paper(SLO), Config::tuned(SLO)] {
        let mut system = closed_loop(config, 5);
        system.run(1.5, Duration::from_millis(200));
        system.stall(Duration::from_millis(100));
        system.run(1.5, Duration::from_millis(200));
        let mut seen = system.run(1.5, Duration::from_millis(500));
        let throughput = seen.response_us.len() as f64 / 50_000.0;
        let p50 = seen.percentile_us(0.5);
        assert!(throughput > 0.9 && p50 < 200.0, "{throughput}, p50 {p50} µs, {config:?}");
    }
}

/// The window is 3: with one request on its way less than half of it is in use.
#[test]
fn a_window_grows_by_what_was_on_its_way_when_the_answer_came() {
    let config = Config { window_initial: 3.0, ..Config::tuned(SLO) };
    let now = Instant::from_nanos(1_000_000_000);
    let fast = reply(Outcome::Served, SLO / 4);
    let mut gate = WindowGate::new(config);
    assert_eq!(gate.permit(now, &CALL, 2), Permit::Send);
    assert_eq!(gate.permit(now, &CALL, 3), Permit::Wait, "as many as the window");
    assert_eq!(gate.permit(now, &CALL, 1), Permit::Send);
    gate.on_sent(now, &CALL);
    // Two on their way: 3 + 1/3, and then one, of 3.33: it is not used.
    (0..4).for_each(|_| gate.on_reply(now, &fast));
    assert_eq!(gate.window(), 3);
    let mut grown = WindowGate::new(Config { window_initial: 3.9, ..config });
    assert_eq!(grown.permit(now, &CALL, 1), Permit::Send);
    grown.on_sent(now, &CALL);
    grown.on_reply(now, &fast);
    assert_eq!(grown.window(), 4, "3.9 and a step of 1/3.9");
}

#[test]
fn what_left_before_a_cut_does_not_cut_again() {
    let config = Config { window_initial: 100.0, ..Config::tuned(SLO) };
    let at = |us: u64| Instant::from_nanos(1_000 * us);
    let mut gate = WindowGate::new(config);
    gate.on_reply(at(10_000), &reply(Outcome::Served, SLO));
    assert_eq!(gate.window(), 70);
    gate.on_reply(at(10_100), &reply(Outcome::Served, SLO));
    assert_eq!(gate.window(), 70, "it left 100 µs before the cut");
    gate.on_reply(at(10_300), &reply(Outcome::Served, SLO));
    assert_eq!(gate.window(), 49);
}
