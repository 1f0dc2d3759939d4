//! What the machine and the server did while a window was measured.

use std::time::Duration;
use tailwater_core::Instant;
use tailwater_rt::cpu::Usage;
use tailwater_stats::result::Noise;

/// A reading of everything that is compared at both ends of the window.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    at: Instant,
    server: Usage,
    load: Usage,
    steal: Duration,
}

/// What happened between two readings.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Its length.
    pub length: Duration,
    /// The server's CPU time.
    pub server_cpu: Duration,
    /// The noise in it.
    pub noise: Noise,
}

impl Reading {
    /// Takes some 100 µs; twice a run.
    #[must_use]
    pub fn take(at: Instant, server_pid: u32) -> Self {
        Self {
            at,
            server: Usage::of(server_pid).unwrap_or_default(),
            load: Usage::of(std::process::id()).unwrap_or_default(),
            steal: stolen(),
        }
    }

    /// From `earlier` to this one.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Window {
        let length = self.at.since(earlier.at);
        let seconds = length.as_secs_f64().max(1e-9);
        let server = self.server.since(&earlier.server);
        let load = self.load.since(&earlier.load);
        #[expect(clippy::cast_precision_loss, reason = "counts of a few seconds")]
        let per_second = |count: u64| count as f64 / seconds;
        Window {
            length,
            server_cpu: server.cpu,
            noise: Noise {
                steal_ratio: self.steal.saturating_sub(earlier.steal).as_secs_f64() / seconds,
                server_involuntary_per_s: per_second(server.involuntary),
                load_involuntary_per_s: per_second(load.involuntary),
            },
        }
    }
}

/// Time that the hypervisor gave to others, all cores together. The kernel counts in hundredths of
/// a second, so a window of two seconds resolves half a per cent.
fn stolen() -> Duration {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let ticks: u64 = stat
        .lines()
        .next()
        .and_then(|line| line.split_whitespace().nth(8)?.parse().ok())
        .unwrap_or(0);
    Duration::from_millis(10 * ticks)
}
