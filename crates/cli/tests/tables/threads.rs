//! Threading models and what was promised of them: `benches/threads`.

use super::{head, line};
use serde::Deserialize;
use tailwater_report::time;

#[derive(Deserialize)]
struct Report {
    unloaded: Option<Part>,
    switches: Option<Switches>,
    memory: Option<Part>,
    pace: Option<Part>,
    goals: Vec<Goal>,
}

#[derive(Deserialize)]
struct Part {
    machine: Machine,
}

#[derive(Deserialize)]
struct Machine {
    cpu: String,
    cores: usize,
}

#[derive(Deserialize)]
struct Switches {
    machine: Machine,
    rate_rps: f64,
    held: Latency,
    changing: Latency,
}

#[derive(Deserialize)]
struct Latency {
    p99_us: f64,
}

#[derive(Deserialize)]
struct Goal {
    part: String,
    goal: String,
    found: String,
    met: bool,
}

/// A line for each promise, in the order of the file. That of a ratio tells what it was made of.
pub(super) fn table(result: &str) -> String {
    let report: Report = serde_json::from_str(result).expect("a result of benches/threads");
    let heads = ["part", "promised", "found", ""];
    let mut text = head(&heads.map(Into::into));
    for Goal { part, goal, mut found, met } in report.goals {
        if let Some(Switches { held, changing, .. }) = &report.switches
            && goal.starts_with("p99 while models change")
        {
            found += &format!(" ({}; held {})", time(changing.p99_us), time(held.p99_us));
        }
        text += &line(&[part, goal, found, if met { "met" } else { "missed" }.into()]);
    }
    text
}

/// On what each part was taken, as far as the file knows.
pub(super) fn machines(result: &str) -> String {
    let Report { unloaded, switches, memory, pace, .. } =
        serde_json::from_str(result).expect("a result of benches/threads");
    let load = switches.as_ref().map(|it| format!("{:.0} requests/s", it.rate_rps));
    let parts = [
        ("unloaded", unloaded.map(|it| it.machine), None),
        ("switches", switches.map(|it| it.machine), load),
        ("memory", memory.map(|it| it.machine), None),
        ("pace", pace.map(|it| it.machine), None),
    ];
    let mut text = head(&["part", "processor", "cores", "load"].map(Into::into));
    for (part, machine, load) in parts {
        if let Some(Machine { cpu, cores }) = machine {
            text += &line(&[part.into(), cpu, cores.to_string(), load.unwrap_or("–".into())]);
        }
    }
    text
}
