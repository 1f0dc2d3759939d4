//! A client that follows the protocol never exceeds its window.

use super::Finding;
use tailwater_control::{Offer, Reason, Verdict, is_older};

/// What a client may do, worked out beside it from what it was told: the plainest gate there can be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conduct {
    /// What an unregistered client may have outstanding.
    first: u32,
    window: u32,
    seq: u32,
    outstanding: u32,
    registered: bool,
}

impl Conduct {
    /// A client that has just connected and may send `first` requests.
    pub(crate) const fn new(first: u32) -> Self {
        Self { first, window: first, seq: 0, outstanding: 0, registered: false }
    }

    pub(crate) fn on_sent(&mut self, register: bool) -> Finding {
        self.outstanding += 1;
        let expected = !std::mem::replace(&mut self.registered, true);
        if self.outstanding > self.window {
            return Some(format!(
                "{} requests outstanding with a window of {}",
                self.outstanding, self.window
            ));
        }
        (register != expected).then(|| "it registered twice or not at all".into())
    }

    pub(crate) const fn on_answered(&mut self, offer: Offer) {
        self.outstanding = self.outstanding.saturating_sub(1);
        self.on_offer(offer);
    }

    pub(crate) const fn on_offer(&mut self, offer: Offer) {
        if self.registered && !is_older(offer.seq, self.seq) {
            (self.window, self.seq) = (offer.window, offer.seq);
        }
    }

    pub(crate) const fn on_deregistered(&mut self) {
        (self.registered, self.window) = (false, self.first);
    }

    pub(crate) const fn on_disconnected(&mut self) {
        *self = Self::new(self.first);
    }
}

/// The controller may not find an honest client at fault.
pub(crate) fn accused(verdict: Verdict) -> Finding {
    matches!(verdict, Verdict::Shed(Reason::NoCredit) | Verdict::Close(_))
        .then(|| format!("a client kept to its window, but got {verdict:?}"))
}
