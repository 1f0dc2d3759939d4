//! DAGOR (Zhou et al., SoCC '18): sheds by priority, at the server and, told of the threshold, at
//! the clients. In its original form and as simplified for the evaluation of Breakwater.
//!
//! `config` holds what can be chosen, `levels` how levels travel, `law` how the threshold moves,
//! `regulator` what loops share, `shard` the server's decisions and `gate` the client's.

mod config;
mod family;
mod gate;
mod law;
mod levels;
mod regulator;
mod shard;
#[cfg(test)]
mod tests;

pub use config::{Belief, Config, Draw, Unseen, Variant};
pub(crate) use family::FAMILY;
pub use gate::DagorGate;
pub use levels::Levels;

use crate::config_error::ConfigError;
use crate::server::{Admission, Gauges, Shard};
use regulator::Shared;
use shard::DagorShard;
use std::sync::Arc;

/// A DAGOR server.
#[derive(Debug)]
pub struct Dagor {
    shared: Arc<Shared>,
}

impl Dagor {
    /// A server of `shards` loops. It leaves nothing to chance; its clients' gates do.
    ///
    /// # Errors
    /// What [`Config::check`] finds.
    pub fn new(config: Config, shards: usize) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self { shared: Arc::new(Shared::new(config, shards)) })
    }

    /// The last level that is admitted, from 0 to `config.levels.top()`.
    #[must_use]
    pub fn level(&self) -> u16 {
        self.shared.cursor()
    }
}

impl Admission for Dagor {
    fn name(&self) -> &'static str {
        "dagor"
    }

    fn shards(&self) -> Option<usize> {
        Some(self.shared.shards())
    }

    fn shard(self: Arc<Self>, index: usize) -> Box<dyn Shard> {
        Box::new(DagorShard::new(Arc::clone(&self.shared), index))
    }

    fn gauges(&self) -> Gauges {
        Gauges { delay: self.shared.last_delay(), ..Gauges::default() }
    }
}
