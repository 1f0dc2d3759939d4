//! Where an experiment ran.

use std::time::{SystemTime, UNIX_EPOCH};
use tailwater_core::pace::{Pace, Scheduling};
use tailwater_stats::result::Manifest;
use tailwater_workload::scenario::Clients;

/// Of this machine, now, and of what makes the load.
pub(crate) fn manifest(clients: &Clients) -> Manifest {
    Manifest { generator: generator(clients.pace, clients.scheduling), ..here() }
}

/// Of this machine, now.
pub(crate) fn here() -> Manifest {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let model = cpuinfo
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .map(|rest| rest.trim_start_matches([' ', '\t', ':']).to_owned());
    Manifest {
        tailwater: env!("CARGO_PKG_VERSION").into(),
        started_unix: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |elapsed| elapsed.as_secs()),
        cpu: model.unwrap_or_default(),
        generator: String::new(),
        cpus: u32::try_from(tailwater_rt::cpu::count()).unwrap_or(u32::MAX),
        kernel: read("/proc/sys/kernel/osrelease").trim().into(),
        stalls: Vec::new(),
    }
}

/// Normal scheduling is what goes without saying.
pub(crate) fn generator(pace: Pace, scheduling: Scheduling) -> String {
    match scheduling {
        Scheduling::Normal => pace.to_string(),
        other => format!("{pace}, {other}"),
    }
}
