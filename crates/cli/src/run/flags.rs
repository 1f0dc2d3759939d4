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

/// Where each replica of the server runs and how its threads share the work. `first` is a number that neither it nor
/// those that follow had in this process.
pub(super) fn places(scenario: &Scenario, model: Model, first: u32) -> Vec<Vec<String>> {
    let replicas = 0..scenario.server.replicas;
    replicas.map(|replica| place(scenario, model, (first, replica))).collect()
}

fn place(scenario: &Scenario, model: Model, (first, replica): (u32, u32)) -> Vec<String> {
    let server = &scenario.server;
    let listen = match server.transport {
        Transport::Tcp => "127.0.0.1:0".into(),
        Transport::Unix => {
            let name = format!("tailwater-{}-{}.sock", std::process::id(), first + replica);
            format!("unix:{}", std::env::temp_dir().join(name).display())
        }
    };
    let mut flags = paired([
        ("--listen", listen),
        ("--loops", server.loops.to_string()),
        ("--model", model.to_string()),
    ]);
    for change in &server.changes {
        flags.extend(["--change-to".into(), change.model.to_string()]);
    }
    // As many for each, or none.
    let each = server.cores.len() / server.replicas as usize;
    for core in server.cores.iter().skip(each * replica as usize).take(each) {
        flags.extend(["--core".into(), core.to_string()]);
    }
    flags
}

fn paired<const N: usize>(flags: [(&str, String); N]) -> Vec<String> {
    flags.into_iter().flat_map(|(flag, value)| [flag.to_owned(), value]).collect()
}
