//! A scenario's server as flags of `tailwater serve`.

use std::time::Duration;
use tailwater_control::catalog::Spec;
use tailwater_core::duration::format_duration;
use tailwater_core::threads::Model;
use tailwater_workload::Scenario;
use tailwater_workload::scenario::Transport;

/// What it does: that of the server and of every node behind it.
pub(super) fn what(spec: &Spec, slo: Duration, calibration: f64) -> Vec<String> {
    let mut flags = paired([
        ("--controller", spec.name.clone()),
        ("--profile", spec.profile.clone()),
        ("--slo", format_duration(slo)),
        ("--calibration", calibration.to_string()),
    ]);
    flags.push("--said".into());
    for (key, value) in &spec.overrides {
        flags.extend(["--set".into(), format!("{key}={value}")]);
    }
    flags
}

/// Where it runs and how its threads share the work: that of the server, the `number`th of this process.
pub(super) fn place(scenario: &Scenario, model: Model, number: u32) -> Vec<String> {
    let server = &scenario.server;
    let listen = match server.transport {
        Transport::Tcp => "127.0.0.1:0".into(),
        Transport::Unix => {
            let name = format!("tailwater-{}-{number}.sock", std::process::id());
            format!("unix:{}", std::env::temp_dir().join(name).display())
        }
    };
    let mut flags = paired([
        ("--listen", listen),
        ("--loops", server.loops.to_string()),
        ("--model", model.to_string()),
    ]);
    for core in &server.cores {
        flags.extend(["--core".into(), core.to_string()]);
    }
    flags
}

fn paired<const N: usize>(flags: [(&str, String); N]) -> Vec<String> {
    flags.into_iter().flat_map(|(flag, value)| [flag.to_owned(), value]).collect()
}
