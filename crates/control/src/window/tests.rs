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
