//! Where an experiment ran.

use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tailwater_core::pace::{Pace, Scheduling};
use tailwater_rt::time::now;
use tailwater_stats::result::Manifest;
use tailwater_workload::scenario::Clients;

/// Of this machine, now, and of what makes the load.
pub(crate) fn manifest(clients: &Clients) -> Manifest {
    Manifest { generator: generator(clients.pace, clients.scheduling), ..here() }
}

/// The same, with the commit of this program.
pub(crate) fn built(manifest: Manifest) -> Manifest {
    let dirty = env!("TAILWATER_DIRTY") == "true";
    Manifest { commit: env!("TAILWATER_COMMIT").into(), dirty, ..manifest }
}

/// Of this machine, now.
pub(crate) fn here() -> Manifest {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let model = cpuinfo
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .map(|rest| rest.trim_start_matches([' ', '\t', ':']).to_owned());
    built(Manifest {
        tailwater: env!("CARGO_PKG_VERSION").into(),
        started_unix: since_1970().as_secs(),
        cpu: model.unwrap_or_default(),
        cpus: u32::try_from(tailwater_rt::cpu::count()).unwrap_or(u32::MAX),
        kernel: read("/proc/sys/kernel/osrelease").trim().into(),
        ..Manifest::default()
    })
}

/// Milliseconds since 1970 when the monotonic clock shows so many nanoseconds, from now on.
pub(crate) fn unix_ms_at(monotonic_ns: u64) -> u64 {
    let left = Duration::from_nanos(monotonic_ns.saturating_sub(now().as_nanos()));
    u64::try_from((since_1970() + left).as_millis()).unwrap_or(u64::MAX)
}

/// How long it is until so many seconds since 1970; `None` where they are past.
pub(crate) fn until(unix_s: u64) -> Option<Duration> {
    Duration::from_secs(unix_s).checked_sub(since_1970())
}

fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Normal scheduling is what goes without saying.
pub(crate) fn generator(pace: Pace, scheduling: Scheduling) -> String {
    match scheduling {
        Scheduling::Normal => pace.to_string(),
        other => format!("{pace}, {other}"),
    }
}
