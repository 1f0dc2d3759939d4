//! Where a controller is to work: what every factory is told of its server.

use std::time::Duration;

/// A server as its controller knows it beforehand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Site {
    /// The objective: the time within which an answer counts. Above zero.
    pub slo: Duration,
    /// Loops of the server, each of which owns a half ([`crate::Admission::shard`]) and has a queue of
    /// its own. 1 or more.
    pub loops: usize,
    /// Cores that serve requests: what papers mean by cores, and so the least that may be in the server
    /// at once. 1 or more; more than `loops` where loops hand requests to workers, or where several
    /// cores serve one queue.
    pub cores: usize,
    /// Decides random choices. Any number; the same number draws alike.
    pub seed: u64,
}

impl Site {
    /// A server of one loop on one core.
    #[must_use]
    pub const fn one_loop(slo: Duration, seed: u64) -> Self {
        Self { slo, loops: 1, cores: 1, seed }
    }

    /// A server of so many loops, each of which serves on a core of its own.
    #[must_use]
    pub const fn of_loops(slo: Duration, loops: usize, seed: u64) -> Self {
        Self { slo, loops, cores: loops, seed }
    }

    /// The cores as configurations count them; at least one.
    pub(crate) fn serving_cores(&self) -> u32 {
        u32::try_from(self.cores).unwrap_or(u32::MAX).max(1)
    }
}
