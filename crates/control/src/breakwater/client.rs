//! The gate of a client that sends only with credit (§3.3).

use super::session::is_before;
use crate::client::{Call, Gate, Permit, Reply};
use crate::server::Offer;
use tailwater_core::Instant;

/// Holds the server's newest offer. An unregistered client may have one request outstanding: the
/// one that registers it.
#[derive(Clone, Copy, Debug)]
pub struct CreditGate {
    window: u32,
    seq: u32,
}

impl Default for CreditGate {
    fn default() -> Self {
        Self { window: 1, seq: 0 }
    }
}

impl Gate for CreditGate {
    fn permit(&mut self, _now: Instant, _call: &Call, outstanding: u32) -> Permit {
        if outstanding < self.window { Permit::Send } else { Permit::Wait }
    }

    fn on_sent(&mut self, _now: Instant, _call: &Call) {}

    fn on_reply(&mut self, _now: Instant, _reply: &Reply) {}

    fn on_offer(&mut self, _now: Instant, offer: Offer) {
        if !is_before(offer.seq, self.seq) {
            self.window = offer.window;
            self.seq = offer.seq;
        }
    }

    fn on_deregistered(&mut self) {
        self.window = 1;
    }

    fn on_disconnected(&mut self) {
        *self = Self::default();
    }

    fn acked(&self) -> u32 {
        self.seq
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offers_are_idempotent_and_late_ones_change_nothing() {
        let now = Instant::ZERO;
        let mut gate = CreditGate::default();
        let call = Call { id: tailwater_core::RequestId(1), deadline: None, priority: 128 };
        assert_eq!(gate.permit(now, &call, 0), Permit::Send, "registration needs no credit");
        let offer = Offer { window: 3, seq: 9, level: 0 };
        gate.on_offer(now, offer);
        gate.on_offer(now, offer);
        assert_eq!(gate.permit(now, &call, 2), Permit::Send);
        assert_eq!(gate.permit(now, &call, 3), Permit::Wait);
        gate.on_offer(now, Offer { window: 60, seq: 8, level: 0 });
        assert_eq!(gate.permit(now, &call, 3), Permit::Wait);
        gate.on_offer(now, Offer { window: 0, seq: 10, level: 0 });
        assert_eq!(gate.permit(now, &call, 0), Permit::Wait, "revoked");
        gate.on_disconnected();
        assert_eq!(gate.acked(), 0);
    }
}
