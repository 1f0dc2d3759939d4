//! Breakwater (Cho et al., OSDI '20): credits issued by the server from its queueing delay.
//!
//! `config` holds what can be chosen and `family` its names; `delay` the law, `pool` what its loops share, `session`
//! one client's credits, `shard` the server's decisions and `client` the gate at the other end.
//! `predicted_wait`, `typical`, `share_shed`, `classes`, `stranded` and `relief` are what a loop knows beside
//! its sessions, and `refusals` what a pool knows of the tiers behind it. `consumption`, `idle` and `round_trips` are what keeps one client from moving the
//! others. Protego (NSDI '23) is the same with another law, `efficiency`, on what `meter` counts and `trend`
//! draws a line through.

mod classes;
mod client;
mod config;
mod consumption;
mod delay;
mod efficiency;
mod family;
mod idle;
mod meter;
mod pool;
mod predicted_wait;
mod refusals;
mod relief;
mod round_trips;
mod session;
mod shard;
mod share_shed;
mod stranded;
mod trend;
mod typical;

pub use client::CreditGate;
pub use config::{
    Config, Decrease, Demand, Efficiency, Explicit, Growth, Increase, Interval, Issued, Judge,
    LastCredit, Law, Pools, RoundTrip, Signal, Span, Trust,
};
pub(crate) use family::{AQM_ONLY, EFFICIENCY, FAMILY};

use crate::config_error::ConfigError;
use crate::server::{Admission, Gauges, Shard};
use pool::Pool;
use shard::BreakwaterShard;
use std::sync::Arc;
use std::time::Duration;
use tailwater_core::Rng;

/// The name in the catalog.
pub const NAME: &str = FAMILY.name;

/// A Breakwater server.
#[derive(Debug)]
pub struct Breakwater {
    config: Config,
    loops: usize,
    /// One for all loops, or one for each.
    pools: Box<[Arc<Pool>]>,
    rng: Rng,
}

impl Breakwater {
    /// A server of so many loops; `seed` decides whom explicit credits go to where that is random.
    ///
    /// # Errors
    /// What [`Config::check`] finds.
    pub fn new(config: Config, loops: usize, seed: u64) -> Result<Self, ConfigError> {
        config.check()?;
        let loops = loops.max(1);
        let (pools, loops_of_a_pool) = match config.pools {
            Pools::Shared => (1, loops),
            Pools::PerLoop => (loops, 1),
        };
        let share = config.share_of(u32::try_from(pools).unwrap_or(u32::MAX));
        let pools = (0..pools).map(|_| Arc::new(Pool::new(share, loops_of_a_pool))).collect();
        Ok(Self { config, loops, pools, rng: Rng::from_seed(seed) })
    }

    fn sum(&self, count: impl Fn(&Pool) -> u32) -> u32 {
        self.pools.iter().fold(0, |sum, pool| sum.saturating_add(count(pool)))
    }

    fn longest(&self, time: impl Fn(&Pool) -> Duration) -> Duration {
        self.pools.iter().map(|pool| time(pool)).max().unwrap_or_default()
    }
}

impl Admission for Breakwater {
    fn name(&self) -> &'static str {
        match (self.config.credits, self.config.law) {
            (false, _) => "aqm-only",
            (true, Law::Delay) => "breakwater",
            (true, Law::Efficiency(_)) => "efficiency",
        }
    }

    fn shards(&self) -> Option<usize> {
        Some(self.loops)
    }

    fn shard(self: Arc<Self>, index: usize) -> Box<dyn Shard> {
        let rng = self.rng.split(&format!("shard {index}"));
        let (pool, place) = match self.config.pools {
            Pools::Shared => (&self.pools[0], index),
            Pools::PerLoop => (&self.pools[index], 0),
        };
        Box::new(BreakwaterShard::new(Arc::clone(pool), place, rng))
    }

    fn gauges(&self) -> Gauges {
        Gauges {
            pool: self.sum(Pool::total),
            issued: self.sum(Pool::issued),
            sessions: self.sum(Pool::sessions),
            idle: self.sum(Pool::idle),
            delay: self.longest(Pool::last_delay),
            rtt: self.longest(Pool::rtt),
        }
    }
}

#[cfg(test)]
mod tests;
