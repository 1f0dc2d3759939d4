//! Replicas of tiers' nodes and second tries of calls, drawn at random.

use super::dice::{Dice, Micros as _};
use crate::world::TierSpec;
use tailwater_control::RetryConfig;
use tailwater_control::retry::{First, HedgeAfter, HedgeConfig};
use tailwater_core::{Ratio, Rng};

/// Every third tier has replicas, and calls to most of these are hedged; a generator of its own.
pub(super) fn replicate(seed: u64, tiers: &mut [TierSpec]) {
    let mut dice = Dice(Rng::from_seed(seed).split("swarm of servers"));
    for tier in tiers {
        if !dice.chance(0.33) {
            continue;
        }
        tier.replicas = dice.number(2, 4) as u32;
        let first = dice.one_of([First::Own, First::LeastLoaded, First::Primary]);
        tier.retry = RetryConfig { first, ..RetryConfig::default() };
        let after = dice.one_of([
            HedgeAfter::Delay(20.us()),
            HedgeAfter::Delay(500.us()),
            HedgeAfter::Quantile(Ratio(0.5)),
        ]);
        let hedge = HedgeConfig { after, share: Ratio(0.5), burst: 10 };
        tier.hedge = dice.chance(0.6).then_some(hedge);
    }
}
