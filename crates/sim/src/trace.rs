//! What a run shows beside its result: the course of the pool, and who was left out.

use crate::locks::LockReport;
use std::fmt::Write as _;
use std::time::Duration;
use tailwater_core::{Instant, Nanos};

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// In equal steps from the beginning, when the world asks for them.
    pub samples: Vec<Sample>,
    /// The longest time, over all clients, in which one got no request served. From the run's
    /// beginning and up to its end; a client that asks seldom waits long without starving.
    pub longest_unserved: Duration,
    /// What was seen of locks, node by node.
    pub locks: Vec<LockReport>,
    /// Of each request of a world with bins: see [`tailwater_stats::TallyFindings::points`].
    pub points: Vec<(f32, f32)>,
    /// Events that were handled: the measure of the simulator's own speed.
    pub events: u64,
}

/// The server at one instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sample {
    /// When.
    pub at: Instant,
    /// Size of the pool, `C_total`.
    pub pool: u32,
    /// Credits out, `C_issued`.
    pub issued: u32,
    /// Registered clients.
    pub sessions: u32,
    /// Age of the oldest packet plus age of the oldest waiting request.
    pub delay: Duration,
    /// Packets that wait to be parsed.
    pub packets: usize,
    /// Requests that wait to run.
    pub runnable: usize,
}

impl Trace {
    /// The course of the pool for people and snapshots: a line for every `every`, with means of what
    /// was sampled in it. Rounded to `credits` and `delay`, so that only a change of behaviour shows.
    /// Empty without samples; units of zero count as one.
    #[must_use]
    pub fn course(&self, every: Duration, credits: u32, delay: Duration) -> String {
        let mut text = String::new();
        let number = |sample: &Sample| sample.at.as_nanos() / every.nanos().max(1);
        for samples in self.samples.chunk_by(|a, b| number(a) == number(b)) {
            let count = samples.len() as u64;
            let mean = |of: fn(&Sample) -> u64, unit: u64| {
                let unit = unit.max(1);
                let sum: u64 = samples.iter().map(of).sum();
                (sum + count * unit / 2) / (count * unit) * unit
            };
            let credits = u64::from(credits);
            let _ = writeln!(
                text,
                "{:4} ms  pool {:5}  issued {:5}  delay {:4} µs",
                samples[0].at.as_nanos() / 1_000_000,
                mean(|sample| u64::from(sample.pool), credits),
                mean(|sample| u64::from(sample.issued), credits),
                mean(|sample| sample.delay.nanos(), delay.nanos()) / 1_000,
            );
        }
        text
    }
}
