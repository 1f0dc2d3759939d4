//! A scenario's server as flags of `tailwater serve`.

use std::time::Duration;
use tailwater_control::catalog::Spec;
use tailwater_core::duration::format_duration;
use tailwater_workload::Scenario;
use tailwater_workload::scenario::Transport;

/// For a server under `spec`, the `number`th of this process.
pub(super) fn of(
    scenario: &Scenario,
    spec: &Spec,
    slo: Duration,
    calibration: f64,
    number: u32,
) -> Vec<String> {
    let server = &scenario.server;
    let listen = match server.transport {
        Transport::Tcp => "127.0.0.1:0".into(),
        Transport::Unix => {
            let name = format!("tailwater-{}-{number}.sock", std::process::id());
            format!("unix:{}", std::env::temp_dir().join(name).display())
        }
    };
    let mut flags: Vec<String> = [
        ("--listen", listen),
        ("--controller", spec.name.clone()),
        ("--profile", spec.profile.clone()),
        ("--slo", format_duration(slo)),
        ("--loops", server.loops.to_string()),
        ("--reception", server.reception.to_string()),
        ("--placement", server.placement.to_string()),
        ("--calibration", calibration.to_string()),
    ]
    .into_iter()
    .flat_map(|(flag, value)| [flag.to_owned(), value])
    .collect();
    flags.push("--said".into());
    for (key, value) in &spec.overrides {
        flags.extend(["--set".into(), format!("{key}={value}")]);
    }
    for core in &server.cores {
        flags.extend(["--core".into(), core.to_string()]);
    }
    flags
}
