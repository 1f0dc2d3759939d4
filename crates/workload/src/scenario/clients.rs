//! `[clients]`: who asks.

use super::section::Section;
use super::{limits, pinning};

/// Logical clients and the generator that plays them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Clients {
    /// How many, each with a connection and control state of its own; each number is a
    /// configuration. The more share the same demand, the staler each one's view of the server, and
    /// the larger the bursts when all may send (Breakwater §5.2).
    pub counts: Vec<u32>,
    /// Cores of the generator's threads; empty: not pinned.
    pub cores: Vec<u32>,
    /// Threads of the generator. Default 1.
    pub threads: u32,
}

pub(super) const KEYS: &[&str] = &["count", "cores", "threads"];

impl Clients {
    pub(super) fn read(section: &Section<'_>) -> Self {
        let counts: Vec<u32> = section.needed("count", "count = 100", |item| {
            item.each_distinct(|item| item.whole(1..=limits::CLIENTS_MAX))
        });
        let threads = section.whole("threads", 1..=limits::THREADS_MAX).unwrap_or(1);
        if let (Some(&fewest), Some(item)) = (counts.iter().min(), section.item("threads"))
            && fewest < threads
        {
            item.problem(format!(
                "clients.threads is {threads}, but clients.count is {fewest}; at most a thread for \
                 each client is needed"
            ));
        }
        Self {
            counts,
            cores: pinning::cores(section, &[(threads, "one for each thread")]),
            threads,
        }
    }
}
