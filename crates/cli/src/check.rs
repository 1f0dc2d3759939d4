//! `tailwater check`: scenario files read as `run` reads them, and nothing run.

use crate::args::CheckOptions;
use crate::failure::{Failure, say};
use crate::input::text_of;
use crate::run::{Driver, cores, foreign, launched};
use crate::{applications, notes, scenarios};
use serde::Serialize;
use std::path::Path;
use std::time::Duration;
use tailwater_core::Nanos;
use tailwater_core::duration::format_duration;
use tailwater_experiment::{Shard, capacity, check as known, pieces};
use tailwater_workload::scenario::{ControllerSpec, Problem, TextPlace};
use tailwater_workload::{Scenario, ScenarioError};

/// What one file says.
#[derive(Serialize)]
struct Checked {
    /// As it was named.
    file: String,
    sound: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<Plan>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<Wrong>,
    /// How many more problems there are.
    #[serde(skip_serializing_if = "is_none_left")]
    omitted: usize,
}

/// What would be run.
#[derive(Serialize)]
struct Plan {
    title: String,
    summary: String,
    slos_us: Vec<f64>,
    clients: Vec<u32>,
    demands: usize,
    controllers: Vec<String>,
    /// What faults of nodes and links strike.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    strikes: Vec<String>,
    repetitions: u32,
    runs: u64,
    on: Vec<&'static str>,
    /// What is sound, and most likely not what was meant.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    /// Why it does not run everywhere; nothing where a place is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_elsewhere: Option<String>,
    /// Why it does not run over sockets of this machine; nothing where the simulator is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_here: Option<String>,
    /// About how long it takes over sockets, capacity included; `None`: it does not run there.
    #[serde(skip_serializing_if = "Option::is_none")]
    loopback_s: Option<f64>,
}

#[derive(Serialize)]
struct Wrong {
    line: usize,
    column: usize,
    message: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
const fn is_none_left(omitted: &usize) -> bool {
    *omitted == 0
}

/// Server and generator start anew for every run and every measurement of capacity.
const START: Duration = Duration::from_millis(100);

pub(crate) fn check(options: &CheckOptions) -> Result<(), Failure> {
    let mut refused = 0;
    let mut all = Vec::new();
    for file in &options.files {
        match one(file, options.on) {
            Ok(plan) => {
                if !options.json {
                    say(&sound(&file.display().to_string(), &plan))?;
                }
                let file = file.display().to_string();
                all.push(Checked {
                    file,
                    sound: true,
                    plan: Some(plan),
                    problems: Vec::new(),
                    omitted: 0,
                });
            }
            Err(error) => {
                refused += 1;
                tell(&error);
                all.push(wrong(error));
            }
        }
    }
    if options.json {
        say(&serde_json::to_string_pretty(&all).map_err(Failure::work)?)?;
    }
    if refused > 0 {
        let files = if all.len() == 1 { "file" } else { "files" };
        return Err(Failure::usage(format!("{refused} of {} {files} cannot be run", all.len())));
    }
    Ok(())
}

/// As `run` reads it, the driver's refusals included where one is asked for.
fn one(file: &Path, on: Option<Driver>) -> Result<Plan, ScenarioError> {
    let name = file.display().to_string();
    let text = text_of(file).map_err(|error| {
        ScenarioError::at(&name, TextPlace::START, scenarios::unreadable(file, &error))
    })?;
    let scenario = scenarios::parsed(file, &text)?;
    known(&scenario)?;
    let elsewhere = (scenario.needs_simulator(), scenario.needs_sockets());
    let here = || cores::lacking(&scenario).or_else(|| foreign::lacking(&scenario));
    let lacking = elsewhere.0.is_none().then(here).flatten();
    if let (Some(Driver::Loopback), Some(why)) = (on, &lacking) {
        return Err(ScenarioError::at(&name, TextPlace::START, why));
    }
    match (on, &elsewhere) {
        (Some(Driver::Loopback), (Some(error), _)) | (Some(Driver::Sim), (_, Some(error))) => {
            return Err(error.clone());
        }
        (None, (Some(no_sockets), Some(no_simulator))) => {
            return Err(nowhere(no_sockets, no_simulator));
        }
        _ => {}
    }
    if elsewhere.0.is_none() {
        // Nothing is opened.
        applications::of(&scenario, Path::new(""))?;
        launched::knobs(&scenario)?;
    }
    let plan = plan(&scenario, elsewhere);
    let on_sockets = on != Some(Driver::Sim) && plan.on.contains(&"loopback");
    let simulated = on != Some(Driver::Loopback) && plan.on.contains(&"sim");
    let notes = notes::of(&scenario, (on_sockets, simulated));
    Ok(match on {
        None => Plan { not_here: lacking, notes, ..plan },
        // Nothing is told of the other place.
        Some(_) => Plan { not_elsewhere: None, notes, ..plan },
    })
}

/// Both reasons of a scenario that runs in no place.
fn nowhere(no_sockets: &ScenarioError, no_simulator: &ScenarioError) -> ScenarioError {
    let of_place = |place: &str, error: &ScenarioError| {
        let told = |it: &Problem| Problem {
            message: format!("runs nowhere, {place}: {}", it.message),
            ..it.clone()
        };
        error.problems.iter().map(told).collect::<Vec<_>>()
    };
    let mut problems = of_place("not over sockets", no_sockets);
    problems.extend(of_place("not in the simulator", no_simulator));
    problems.sort();
    ScenarioError { problems, ..no_sockets.clone() }
}

type Elsewhere = (Option<ScenarioError>, Option<ScenarioError>);

fn plan(scenario: &Scenario, (no_sockets, no_simulator): Elsewhere) -> Plan {
    let on = [("loopback", no_sockets.is_none()), ("sim", no_simulator.is_none())];
    Plan {
        title: scenario.title.clone(),
        summary: scenario.summary(),
        slos_us: scenario.slo.iter().map(|slo| slo.nanos() as f64 / 1e3).collect(),
        clients: scenario.clients.counts.clone(),
        demands: scenario.demand.courses.len(),
        controllers: scenario.controllers.iter().map(ControllerSpec::title).collect(),
        strikes: scenario.strikes(),
        repetitions: scenario.repetitions,
        runs: scenario.runs(),
        on: on.iter().filter(|(_, possible)| *possible).map(|(name, _)| *name).collect(),
        loopback_s: no_sockets.is_none().then(|| over_sockets(scenario).as_secs_f64()),
        not_elsewhere: no_sockets.or(no_simulator).map(|error| error.to_string()),
        not_here: None,
        notes: Vec::new(),
    }
}

/// Runs, and the measurements of capacity around them.
fn over_sockets(scenario: &Scenario) -> Duration {
    let pieces = pieces(scenario, Shard::WHOLE, true);
    let sweep = |&clients: &u32| {
        let ask = capacity::of_scenario(scenario, clients);
        (ask.settle + ask.measure) * ask.in_flight.len() as u32 + START
    };
    let counts = &scenario.clients.counts;
    let sweeps: Duration = match scenario.capacity.fixed {
        Some(_) => Duration::ZERO,
        None => counts.iter().map(sweep).sum(),
    };
    let measured = (pieces - scenario.runs()) as f64 / counts.len().max(1) as f64;
    scenario.length() + START.mul_f64(scenario.runs() as f64) + sweeps.mul_f64(measured)
}

fn sound(file: &str, plan: &Plan) -> String {
    let time = plan.loopback_s.map(|seconds| format!(", about {} with capacity", about(seconds)));
    let places: Vec<String> = plan
        .on
        .iter()
        .map(|name| match (*name, &time) {
            ("loopback", Some(time)) => format!("--on loopback{time}"),
            (name, _) => format!("--on {name}"),
        })
        .collect();
    let mut lines = vec![
        format!("{file}: sound"),
        format!("  {}", plan.summary),
        format!("  controllers: {}", plan.controllers.join(", ")),
        format!("  runs {}", places.join("; ")),
    ];
    lines.extend(plan.strikes.iter().chain(&plan.notes).map(|note| format!("  {note}")));
    lines.extend(plan.not_elsewhere.iter().map(|why| format!("  {why}")));
    lines.extend(plan.not_here.iter().map(|why| format!("  not over sockets here: {why}")));
    lines.join("\n")
}

fn about(seconds: f64) -> String {
    match seconds {
        below if below < 120.0 => format_duration(Duration::from_secs(below.ceil() as u64)),
        below if below < 7_200.0 => format!("{:.0} min", below / 60.0),
        more => format!("{:.1} h", more / 3_600.0),
    }
}

fn tell(error: &ScenarioError) {
    use std::io::Write as _;
    // The terminal that it would be shown on may be what is gone.
    let _ = writeln!(std::io::stderr(), "{error}");
}

fn wrong(error: ScenarioError) -> Checked {
    let problem = |problem: Problem| Wrong {
        line: problem.place.line,
        column: problem.place.column,
        message: problem.message,
    };
    Checked {
        file: error.file,
        sound: false,
        plan: None,
        problems: error.problems.into_iter().map(problem).collect(),
        omitted: error.omitted,
    }
}
