//! What all threads of a server have counted of a tier.

use crate::counts::TierCounts;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use tailwater_control::retry::HedgeCounts;

/// Second tries. Each thread adds what it has found in a turn; there are few, so that this costs the others nothing.
#[derive(Debug, Default)]
pub(super) struct Tallies {
    sent: AtomicU64,
    won: AtomicU64,
    over_budget: AtomicU64,
}

impl Tallies {
    /// Adds what has been counted since `before`.
    pub(super) fn add(&self, now: HedgeCounts, before: HedgeCounts) {
        let HedgeCounts { sent, won, over_budget } = now;
        // Relaxed: numbers to look at, each for itself.
        self.sent.fetch_add(sent - before.sent, Relaxed);
        self.won.fetch_add(won - before.won, Relaxed);
        self.over_budget.fetch_add(over_budget - before.over_budget, Relaxed);
    }

    pub(super) fn of(&self, name: &str) -> TierCounts {
        // Relaxed: as they are added.
        let [hedged, hedges_won, hedges_over_budget] =
            [&self.sent, &self.won, &self.over_budget].map(|count| count.load(Relaxed));
        TierCounts { name: name.into(), hedged, hedges_won, hedges_over_budget }
    }
}
