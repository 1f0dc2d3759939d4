//! Where and when it ran.

use std::time::{SystemTime, UNIX_EPOCH};
use tailwater_stats::result::Manifest;

/// Of this machine, now.
pub(crate) fn here() -> Manifest {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name"));
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let cpus = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    Manifest {
        tailwater: env!("CARGO_PKG_VERSION").into(),
        started_unix: since.map_or(0, |elapsed| elapsed.as_secs()),
        cpu: model.unwrap_or_default().trim_start_matches([' ', '\t', ':']).to_owned(),
        cpus: u32::try_from(cpus).unwrap_or(u32::MAX),
        kernel: read("/proc/sys/kernel/osrelease").trim().into(),
        ..Manifest::default()
    }
}
