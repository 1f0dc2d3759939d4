//! Breakwater (Cho et al., OSDI '20): credits issued by the server from its queueing delay.
//!
//! `config` holds what can be chosen, `delay` the law, `pool` what loops share, `session` one
//! client's credits, `shard` the server's decisions and `client` the gate at the other end. `predicted_wait`,
//! `share_shed` and `stranded` are what a loop knows beside its sessions. `consumption`,
//! `idle`, `stamps` and `round_trips` are what keeps one client from moving the others. Protego
//! (NSDI '23) is the same with another law, `efficiency`, on what `meter` counts.

mod predicted_wait;
mod client;
mod config;
mod consumption;
mod delay;
mod stranded;
mod efficiency;
mod family;
mod idle;
mod meter;
mod pool;
mod relief;
mod round_trips;
mod session;
mod shard;
mod stamps;
mod trend;
mod typical;
mod share_shed;

pub use client::CreditGate;
pub use config::{
    Config, Demand, Explicit, Growth, Increase, Interval, Issued, LastCredit, Law, RoundTrip,
    Signal, Trust,
};
pub use efficiency::{Decrease, Efficiency, Judge, Span};
pub(crate) use family::{AQM_ONLY, EFFICIENCY, FAMILY};

use crate::config_error::ConfigError;
use crate::server::{Admission, Gauges, Shard};
use pool::Pool;
use shard::BreakwaterShard;
use std::sync::Arc;
use tailwater_core::Rng;

/// The name in the catalog.
pub const NAME: &str = FAMILY.name;

/// A Breakwater server.
#[derive(Debug)]
pub struct Breakwater {
    pool: Arc<Pool>,
    rng: Rng,
}

impl Breakwater {
    /// A server of `shards` loops; `seed` decides whom explicit credits go to where that is random.
    ///
    /// # Errors
    /// What [`Config::check`] finds.
    pub fn new(config: Config, shards: usize, seed: u64) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self { pool: Arc::new(Pool::new(config, shards)), rng: Rng::from_seed(seed) })
    }
}

impl Admission for Breakwater {
    fn name(&self) -> &'static str {
        match (self.pool.config.credits, self.pool.config.law) {
            (false, _) => "aqm-only",
            (true, Law::Delay) => "breakwater",
            (true, Law::Efficiency(_)) => "efficiency",
        }
    }

    fn shards(&self) -> Option<usize> {
        Some(self.pool.shards())
    }

    fn shard(self: Arc<Self>, index: usize) -> Box<dyn Shard> {
        let rng = self.rng.split(&format!("shard {index}"));
        Box::new(BreakwaterShard::new(Arc::clone(&self.pool), index, rng))
    }

    fn gauges(&self) -> Gauges {
        Gauges {
            pool: self.pool.total(),
            issued: self.pool.issued(),
            sessions: self.pool.sessions(),
            idle: self.pool.idle(),
            delay: self.pool.last_delay(),
            rtt: self.pool.rtt(),
        }
    }
}
