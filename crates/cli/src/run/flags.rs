//! A scenario's server as flags of `tailwater serve`.

use std::time::Duration;
use tailwater_control::catalog::Spec;
use tailwater_core::duration::format_duration;
use tailwater_core::threads::Model;
use tailwater_workload::Scenario;
use tailwater_workload::scenario::{Server, Transport};

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
    flags.extend(room(server));
    // As many for each, or none.
    let each = server.cores.len() / server.replicas as usize;
    for core in server.cores.iter().skip(each * replica as usize).take(each) {
        flags.extend(["--core".into(), core.to_string()]);
    }
    flags
}

/// What its sockets and loops hold, and its memory; nothing where the file says nothing.
fn room(server: &Server) -> Vec<String> {
    let socket = &server.socket;
    let switches = [("--quick-ack", socket.quick_ack), ("--lock-memory", server.lock_memory)];
    let switches =
        switches.into_iter().filter(|(_, is_on)| *is_on).map(|(flag, _)| flag.to_owned());
    let values = [
        ("--send-buffer", socket.send_buffer.map(|bytes| bytes.to_string())),
        ("--receive-buffer", socket.receive_buffer.map(|bytes| bytes.to_string())),
        ("--congestion-control", socket.congestion_control.clone()),
        ("--drain-every", server.drain_every.map(format_duration)),
        ("--output-high", server.output_high.map(|bytes| bytes.to_string())),
        ("--tasks-max", server.tasks_max.map(|count| count.to_string())),
    ];
    let values = values.into_iter().filter_map(|(flag, value)| Some([flag.to_owned(), value?]));
    switches.chain(values.flatten()).collect()
}

fn paired<const N: usize>(flags: [(&str, String); N]) -> Vec<String> {
    flags.into_iter().flat_map(|(flag, value)| [flag.to_owned(), value]).collect()
}
