//! Gradient2, the concurrency limit that users of Netflix's concurrency-limits and, in a kindred
//! form, of Envoy know: the server bounds the requests inside it and moves that bound by comparing
//! how long requests take now with how long they usually take.
//!
//! `config` holds what can be chosen, `window` gathers samples, `law` moves the limit and `shard`
//! counts and refuses. Requests touch atomics alone; the limit moves on ticks. Its known flaw is the word "usually": under steady overload the usual drifts
//! up to the present, and the limit with it. The default profile ties it to the SLO.

mod config;
mod family;
mod law;
mod shard;
mod window;

pub use config::{Config, Queue};
pub(crate) use family::FAMILY;

use crate::config_error::ConfigError;
use crate::server::{Admission, Gauges, Shard};
use law::Law;
use shard::GradientShard;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, TryLockError};
use std::time::Duration;
use tailwater_core::Instant;
use window::{Sample, Tally, Window};

/// A server that bounds the requests inside it.
#[derive(Debug)]
pub struct Gradient {
    shared: Arc<Shared>,
}

impl Gradient {
    /// A server of `shards` loops.
    ///
    /// # Errors
    /// What [`Config::check`] finds.
    pub fn new(config: Config, shards: usize) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self { shared: Arc::new(Shared::new(config, shards)) })
    }
}

impl Admission for Gradient {
    fn name(&self) -> &'static str {
        "gradient"
    }

    fn shards(&self) -> Option<usize> {
        Some(self.shared.tallies.len())
    }

    fn shard(self: Arc<Self>, index: usize) -> Box<dyn Shard> {
        Box::new(GradientShard::new(Arc::clone(&self.shared), index))
    }

    /// The limit stands as the pool and the requests inside as issued.
    fn gauges(&self) -> Gauges {
        Gauges {
            pool: self.shared.limit.load(Relaxed),
            issued: self.shared.inside.load(Relaxed),
            delay: Duration::from_nanos(self.shared.waited_ns.load(Relaxed)),
            ..Gauges::default()
        }
    }
}

/// What the loops of a server share.
#[derive(Debug)]
struct Shared {
    config: Config,
    /// Requests admitted and not answered, over all loops.
    inside: AtomicU32,
    limit: AtomicU32,
    /// Mean wait in the last window, for people.
    waited_ns: AtomicU64,
    /// What each loop served.
    tallies: Box<[Tally]>,
    /// No request touches it: a tick looks, and one that finds it taken leaves the work to the loop
    /// that has it.
    learner: Mutex<Learner>,
}

#[derive(Debug)]
struct Learner {
    window: Window,
    law: Law,
}

impl Shared {
    fn new(config: Config, loops: usize) -> Self {
        Self {
            config,
            inside: AtomicU32::new(0),
            limit: AtomicU32::new(config.limit_initial),
            waited_ns: AtomicU64::new(0),
            tallies: (0..loops.max(1)).map(|_| Tally::new()).collect(),
            learner: Mutex::new(Learner { window: Window::new(config), law: Law::new(config) }),
        }
    }

    /// Takes a place inside, if there is one.
    fn enter(&self) -> bool {
        let limit = self.limit.load(Relaxed);
        let more = |inside| (inside < limit).then_some(inside + 1);
        // Relaxed: the count is all that is decided about, and no other memory is read by it.
        self.inside.fetch_update(Relaxed, Relaxed, more).is_ok()
    }

    /// Gives places back. Each was taken by [`Shared::enter`].
    fn leave(&self, places: u32) {
        self.inside.fetch_sub(places, Relaxed);
    }

    /// A request of the loop numbered `index` was served.
    fn served(&self, index: usize, waited: Duration, service: Duration) {
        let inside = self.inside.load(Relaxed);
        self.tallies[index].add(&self.config, &Sample { waited, service, inside });
    }

    /// Moves the limit if the window has ended. Never waits.
    fn tick(&self, now: Instant) {
        let mut learner = match self.learner.try_lock() {
            Ok(learner) => learner,
            // Plain numbers are as good after a panic as before; to stop would freeze the limit.
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        if let Some(summary) = learner.window.look(now, &self.tallies) {
            learner.law.update(summary.mean_ns, summary.inside_max);
            self.limit.store(learner.law.limit(), Relaxed);
            self.waited_ns.store(summary.waited_ns, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests;
