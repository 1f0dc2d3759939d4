//! Windows are bounded, numbered and enforced.

use super::Finding;
use super::ledger::Told;
use tailwater_control::{Gauges, Offer, Verdict, is_older};

/// What the pool has been.
#[derive(Debug, Default)]
pub(crate) struct Windows {
    pool_max: u32,
}

/// An explicit credit may come from an empty pool, and so may the last one be kept.
const SLACK: u32 = 2;

impl Windows {
    pub(crate) fn on_pool(&mut self, gauges: &Gauges) {
        self.pool_max = self.pool_max.max(gauges.pool);
    }

    /// `told` is the session as it was before `offer`, whatever ends now being off its books.
    pub(crate) fn check_offer(&mut self, told: Told, offer: Offer, gauges: &Gauges) -> Finding {
        self.on_pool(gauges);
        if self.pool_max == 0 || offer.window == Offer::OPEN.window {
            return None;
        }
        let most = told.pending.saturating_add(self.pool_max).saturating_add(SLACK);
        if offer.window > most {
            return Some(format!(
                "a window of {} with {} pending; the pool never held more than {}",
                offer.window, told.pending, self.pool_max
            ));
        }
        // A registration sets the window to one on both sides without an offer.
        let is_other = offer.seq == told.seq && offer.window != told.window;
        if is_older(offer.seq, told.seq) || (is_other && told.seq != 0) {
            return Some(format!(
                "window {} under number {} follows window {} under number {}",
                offer.window, offer.seq, told.window, told.seq
            ));
        }
        None
    }

    /// `told` counts the request that the verdict is about.
    pub(crate) fn check_verdict(&self, told: Told, verdict: Verdict) -> Finding {
        let exceeds = told.pending > told.largest;
        (self.pool_max > 0 && exceeds && verdict == Verdict::Admit).then(|| {
            format!(
                "a client has {} requests at the node, though its windows never exceeded {}, and \
                 the last was admitted",
                told.pending, told.largest
            )
        })
    }
}
