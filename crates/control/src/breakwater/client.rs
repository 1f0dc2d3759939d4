//! The gate of a client that sends only with credit (§3.3).

use crate::client::{Call, Gate, Permit, Reply};
use crate::server::{Offer, is_older};
use tailwater_core::Instant;

/// Holds the server's newest offer. An unregistered client may have one request outstanding: the
/// one that registers it.
#[derive(Clone, Copy, Debug)]
pub struct CreditGate {
    window: u32,
    /// `None` until the first offer of a connection, which applies whatever its number.
    seq: Option<u32>,
    /// When the pause ends that the server asked for last.
    not_before: Instant,
    /// Nothing but that keeps a call waiting.
    paused: bool,
}

impl Default for CreditGate {
    fn default() -> Self {
        Self { window: 1, seq: None, not_before: Instant::ZERO, paused: false }
    }
}

impl Gate for CreditGate {
    fn permit(&mut self, now: Instant, _call: &Call, outstanding: u32) -> Permit {
        let has_credit = outstanding < self.window;
        self.paused = has_credit && self.is_paused(now);
        if has_credit && !self.paused { Permit::Send } else { Permit::Wait }
    }

    fn on_sent(&mut self, _now: Instant, _call: &Call) {}

    fn on_reply(&mut self, _now: Instant, _reply: &Reply) {}

    fn on_offer(&mut self, came: Instant, offer: Offer) {
        if self.seq.is_none_or(|known| !is_older(offer.seq, known)) {
            self.not_before = came + offer.pause.duration();
            self.window = offer.window;
            self.seq = Some(offer.seq);
        }
    }

    fn on_deregistered(&mut self) {
        self.window = 1;
        self.not_before = Instant::ZERO;
    }

    fn on_disconnected(&mut self) {
        *self = Self::default();
    }

    fn is_paused(&self, now: Instant) -> bool {
        now < self.not_before
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.paused.then_some(self.not_before)
    }

    fn acked(&self) -> u32 {
        self.seq.unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tailwater_core::Pause;

    #[test]
    fn offers_are_idempotent_and_late_ones_change_nothing() {
        let now = Instant::ZERO;
        let mut gate = CreditGate::default();
        let call = Call { id: tailwater_core::RequestId(1), deadline: None, priority: 128 };
        assert_eq!(gate.permit(now, &call, 0), Permit::Send, "registration needs no credit");
        let offer = Offer { window: 3, seq: 9, ..Offer::OPEN };
        gate.on_offer(now, offer);
        gate.on_offer(now, offer);
        assert_eq!(gate.permit(now, &call, 2), Permit::Send);
        assert_eq!(gate.permit(now, &call, 3), Permit::Wait);
        for late in [8, 9 + (1 << 31)] {
            gate.on_offer(now, Offer { window: 60, seq: late, ..Offer::OPEN });
            assert_eq!(gate.permit(now, &call, 3), Permit::Wait, "{late} is older");
        }
        gate.on_offer(now, Offer { window: 0, seq: 10, ..Offer::OPEN });
        assert_eq!(gate.permit(now, &call, 0), Permit::Wait, "revoked");
        gate.on_disconnected();
        assert_eq!(gate.acked(), 0);
    }

    #[test]
    fn the_first_offer_of_a_connection_applies_whatever_its_number() {
        let call = Call { id: tailwater_core::RequestId(1), deadline: None, priority: 128 };
        let mut gate = CreditGate::default();
        for seq in [u32::MAX, 1 << 31] {
            gate.on_offer(Instant::ZERO, Offer { window: 3, seq, ..Offer::OPEN });
            assert_eq!(gate.permit(Instant::ZERO, &call, 2), Permit::Send, "{seq}");
            assert_eq!(gate.acked(), seq);
            gate.on_offer(Instant::ZERO, Offer { window: 9, seq: seq - 1, ..Offer::OPEN });
            assert_eq!(gate.permit(Instant::ZERO, &call, 3), Permit::Wait, "older than {seq}");
            gate.on_disconnected();
        }
    }

    #[test]
    fn a_pause_ends_by_time_alone_or_by_the_next_offer() {
        let at = |us: u64| Instant::from_nanos(us * 1_000);
        let call = Call { id: tailwater_core::RequestId(1), deadline: None, priority: 128 };
        let mut gate = CreditGate::default();
        let pause = Pause::of(Duration::from_micros(160));
        gate.on_offer(at(0), Offer { window: 2, seq: 1, pause, ..Offer::OPEN });
        assert_eq!(gate.permit(at(159), &call, 0), Permit::Wait);
        assert_eq!(gate.next_deadline(), Some(at(160)));
        assert_eq!(gate.permit(at(159), &call, 2), Permit::Wait);
        assert!(gate.is_paused(at(159)) && !gate.is_paused(at(160)), "with credit or without");
        assert_eq!(gate.next_deadline(), None, "without credit no time helps");
        assert_eq!(gate.permit(at(160), &call, 0), Permit::Send);
        gate.on_offer(at(160), Offer { window: 2, seq: 2, pause, ..Offer::OPEN });
        assert_eq!(gate.permit(at(161), &call, 0), Permit::Wait);
        gate.on_offer(at(161), Offer { window: 60, seq: 1, ..Offer::OPEN });
        assert_eq!(gate.permit(at(161), &call, 0), Permit::Wait, "an older offer");
        gate.on_offer(at(162), Offer { window: 2, seq: 2, ..Offer::OPEN });
        assert_eq!(gate.permit(at(162), &call, 0), Permit::Send);
    }

    #[test]
    fn credits_that_were_given_back_leave_the_one_request_that_registers() {
        let call = Call { id: tailwater_core::RequestId(1), deadline: None, priority: 128 };
        let mut gate = CreditGate::default();
        let pause = Pause::of(Duration::from_micros(160));
        gate.on_offer(Instant::ZERO, Offer { window: 9, seq: 4, pause, ..Offer::OPEN });
        gate.on_deregistered();
        assert_eq!(
            gate.permit(Instant::ZERO, &call, 0),
            Permit::Send,
            "the pause was for the credits"
        );
        assert_eq!(gate.permit(Instant::ZERO, &call, 1), Permit::Wait);
        assert_eq!(gate.acked(), 4, "the session's numbers live on");
    }
}
