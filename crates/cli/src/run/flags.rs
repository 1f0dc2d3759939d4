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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Arguments, Verb};
    use crate::serve::site;
    use clap::Parser as _;

    /// Loops and cores that the controller of `serve` is told of, and that of the simulator.
    fn told(loops: u32) -> [(usize, usize); 2] {
        let text = format!(
            r#"
slo = "400us"
warm_up = "1ms"
duration = "10ms"
clients.count = 10
demand.requests_per_second = 1_000
controller.name = "none"
[server]
loops = {loops}
service = {{ distribution = "constant", mean = "10us" }}
"#
        );
        let scenario = Scenario::parse("x.toml", &text).expect("a sound scenario");
        let configuration = scenario.configurations().remove(0);
        let world = tailwater_sim::world_of(&scenario, &configuration, 1);
        let simulated = world.node.site(configuration.slo, 1);
        let flags = places(&scenario, scenario.server.model, 0).remove(0);
        let words = ["tailwater", "serve"].map(str::to_owned).into_iter().chain(flags);
        let Verb::Serve(options) = Arguments::parse_from(words).verb else {
            unreachable!("it was serve")
        };
        let served = site(&options);
        [(served.loops, served.cores), (simulated.loops, simulated.cores)]
    }

    /// Bounds of pools and limits grow with the cores. Both drivers told each controller of one.
    #[test]
    fn controllers_of_both_drivers_are_told_of_the_same_loops_and_cores() {
        for loops in [1, 4] {
            assert_eq!(told(loops), [(loops as usize, loops as usize); 2]);
        }
    }
}
