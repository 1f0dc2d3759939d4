//! The window's gate by itself.

use super::*;
use crate::client::{Call, Gate, Permit, Reply};
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
