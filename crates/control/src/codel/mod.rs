//! CoDel (RFC 8289) on each loop's request queue: sheds when service would start, while even the
//! shortest wait of an interval exceeds the target.
//!
//! `config` holds what can be chosen, `law` the state machine, `shard` its inputs and verdicts. The
//! clients' gate is [`OpenGate`](crate::client::OpenGate): they are told nothing.

mod config;
mod family;
mod law;
mod shard;
#[cfg(test)]
mod tests;

pub use config::Config;
pub(crate) use family::FAMILY;

use crate::config_error::ConfigError;
use crate::server::{Admission, Gauges, Shard};
use shard::CodelShard;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// A server whose loops each run CoDel on a queue of their own; they share nothing but a reading.
#[derive(Debug)]
pub struct Codel {
    config: Config,
    /// Each loop's newest wait, for the gauges.
    waits_ns: Arc<[AtomicU64]>,
}

impl Codel {
    /// A server of `shards` loops.
    ///
    /// # Errors
    /// What [`Config::check`] finds.
    pub fn new(config: Config, shards: usize) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self { config, waits_ns: (0..shards.max(1)).map(|_| AtomicU64::new(0)).collect() })
    }
}

impl Admission for Codel {
    fn name(&self) -> &'static str {
        "codel"
    }

    fn shards(&self) -> Option<usize> {
        Some(self.waits_ns.len())
    }

    fn shard(self: Arc<Self>, index: usize) -> Box<dyn Shard> {
        Box::new(CodelShard::new(self.config, Arc::clone(&self.waits_ns), index))
    }

    fn gauges(&self) -> Gauges {
        let slowest = self.waits_ns.iter().map(|wait| wait.load(Relaxed)).max().unwrap_or(0);
        Gauges { delay: Duration::from_nanos(slowest), ..Gauges::default() }
    }
}
