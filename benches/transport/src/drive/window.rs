//! What is read off the machine at both ends of the window, and what follows from it.

use super::tally::Tally;
use crate::host::{self, Ticks};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// One run's findings.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Outcome {
    /// Answers received within the window, each with its right payload.
    pub(crate) answers: u64,
    /// Length of the window, in nanoseconds.
    pub(crate) window_ns: u64,
    /// CPU time that the server used in it, in nanoseconds.
    pub(crate) server_cpu_ns: u64,
    /// CPU time that the generator used in it, in nanoseconds; all of it when it polls.
    pub(crate) client_cpu_ns: u64,
    /// CPU time that no process of the experiment used or that was stolen, in nanoseconds.
    pub(crate) foreign_cpu_ns: u64,
    /// Median round trip, in nanoseconds.
    pub(crate) p50_ns: u64,
    /// 99th percentile of the round trips, in nanoseconds.
    pub(crate) p99_ns: u64,
}

impl Outcome {
    pub(super) fn new(before: Reading, after: Reading, tally: &mut Tally) -> Self {
        let window = after.at - before.at;
        let server = after.server.saturating_sub(before.server);
        let client = after.client.saturating_sub(before.client);
        let beside = after.beside.saturating_sub(before.beside);
        let busy = after.machine.since(before.machine).busy;
        Self {
            answers: tally.answers(),
            window_ns: window.as_nanos() as u64,
            server_cpu_ns: server.as_nanos() as u64,
            client_cpu_ns: client.as_nanos() as u64,
            foreign_cpu_ns: busy.saturating_sub(server + client + beside).as_nanos() as u64,
            p50_ns: tally.quantile_ns(0.5),
            p99_ns: tally.quantile_ns(0.99),
        }
    }

    /// Answers per second.
    pub(crate) fn answers_per_s(&self) -> f64 {
        self.answers as f64 * 1e9 / self.window_ns as f64
    }

    /// Server CPU for each request, in nanoseconds.
    pub(crate) fn cpu_ns_per_request(&self) -> f64 {
        self.server_cpu_ns as f64 / self.answers as f64
    }

    /// The share of a core that this CPU time was.
    pub(crate) fn share(&self, cpu_ns: u64) -> f64 {
        cpu_ns as f64 / self.window_ns as f64
    }
}

/// The clocks and counters of one moment.
#[derive(Clone, Copy)]
pub(super) struct Reading {
    at: Instant,
    server: Duration,
    client: Duration,
    /// Of the leaves, where there are any.
    beside: Duration,
    machine: Ticks,
}

impl Reading {
    pub(super) fn now(server_pid: u32, beside: Option<u32>) -> Result<Self, String> {
        Ok(Self {
            at: Instant::now(),
            server: host::cpu_of(server_pid)?,
            client: host::cpu_of(std::process::id())?,
            beside: beside.map_or(Ok(Duration::ZERO), host::cpu_of)?,
            machine: Ticks::now()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(at: Instant, seconds: [f64; 4]) -> Reading {
        let [server, client, beside, busy] = seconds.map(Duration::from_secs_f64);
        Reading { at, server, client, beside, machine: Ticks { busy, all: busy } }
    }

    #[test]
    fn what_nobody_owns_up_to_is_foreign() {
        let start = Instant::now();
        let before = reading(start, [1.0, 1.0, 0.0, 10.0]);
        let after = reading(start + Duration::from_secs(2), [2.0, 3.0, 0.25, 13.75]);
        let mut tally = Tally::new();
        (0..1_000).for_each(|_| tally.count(77));
        let outcome = Outcome::new(before, after, &mut tally);
        assert_eq!(outcome.answers_per_s(), 500.0);
        assert_eq!(outcome.cpu_ns_per_request(), 1e6);
        assert_eq!(outcome.share(outcome.foreign_cpu_ns), 0.25);
        assert_eq!((outcome.p50_ns, outcome.p99_ns), (77, 77));
    }
}
