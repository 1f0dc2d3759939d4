//! `tailwater run`: a scenario file on loopback or in simulation, and what is said about it.

mod busiest;
mod cores;
mod deployment;
mod flags;
pub(crate) mod folder;
mod interrupt;
mod loopback;
mod machine;
mod others;
pub(crate) mod output;
mod process;
mod simulation;
pub(crate) mod progress;
mod watch;

use crate::args::{Driver, RunOptions};
use crate::failure::Failure;
use crate::{applications, scenarios};
use busiest::Busiest;
use folder::Folder;
use interrupt::Interrupt;
use loopback::Loopback;
use progress::Progress;
use simulation::Simulation;
use std::io::Write as _;
use tailwater_experiment::{check, pieces};
use tailwater_sim::{Failure as Trouble, Simulator};
use tailwater_stats::result::Experiment;
use tailwater_workload::Scenario;
use watch::Watcher;

pub(crate) fn run(options: &RunOptions) -> Result<(), Failure> {
    let scenario = scenarios::parse(&options.file, &scenarios::read(&options.file)?)?;
    let counts = play(options, scenario, &output::for_people)?;
    // A short version proves that the scenario works, which it did.
    if counts || is_short(options.short) {
        return Ok(());
    }
    Err(Failure::work("there is no result: no run is valid; the lines above and the JSON say why"))
}

/// Whether a short version was asked for, by the flag or by the environment.
pub(crate) fn is_short(said: bool) -> bool {
    said || std::env::var_os("TAILWATER_SHORT").is_some_and(|value| value == "1")
}

/// Runs a scenario and says what was found, to people by `tell`. Whether some run counts.
pub(crate) fn play(
    options: &RunOptions,
    mut scenario: Scenario,
    tell: &dyn Fn(&Experiment) -> String,
) -> Result<bool, Failure> {
    refuse(options, &scenario)?;
    if is_short(options.short) {
        scenario = scenario.shorten();
    }
    if let Some(seed) = options.seed {
        scenario.seed = seed;
    }
    if let Some(repetitions) = options.repetitions {
        scenario.repetitions = repetitions;
    }
    // Before the work: a result that cannot be written would be lost.
    let out = options.out.as_deref().map(Folder::prepare_for_result).transpose()?;
    let interrupt = Interrupt::watch()?;
    let (mut experiment, blame) = match options.on {
        Driver::Loopback => on_sockets(&scenario, &interrupt)?,
        Driver::Sim => (simulate(&scenario, options.threads, &interrupt)?, None),
    };
    let ended = interrupt.signal().map(Failure::signal);
    if let Some(ended) = &ended {
        experiment = cut_short(&scenario, experiment, ended)?;
    }
    let out = out.as_ref().map(|folder| (folder, options.pictures.look()));
    let text = serde_json::to_string_pretty(&experiment).map_err(Failure::work)?;
    output::deliver((&experiment, &text), tell, options.json, out)?;
    if let Some(blame) = blame {
        // Nobody may read it, which changes nothing.
        let _ = writeln!(std::io::stderr(), "tailwater: {blame}");
    }
    match ended {
        None => Ok(experiment.runs.iter().any(|run| run.valid)),
        Some(ended) => Err(ended.and("the result holds what was run before")),
    }
}

/// Everything that can be refused before a folder is made or a process started.
fn refuse(options: &RunOptions, scenario: &Scenario) -> Result<(), Failure> {
    check(scenario).map_err(Failure::usage)?;
    match options.on {
        Driver::Loopback => {
            scenario.needs_simulator().map_or(Ok(()), Err).map_err(Failure::usage)?;
            applications::of(scenario).map_err(Failure::usage)?;
            cores::check(scenario)?;
            if options.threads.is_some() {
                let why = "--threads is given, but runs over sockets would disturb each other";
                return Err(Failure::usage(format!("{why}; leave it out, or type --on sim")));
            }
            Ok(())
        }
        Driver::Sim => scenario.needs_sockets().map_or(Ok(()), Err).map_err(Failure::usage),
    }
}

/// Everything, or what was done when a signal came; and why runs do not count, where others were the cause.
fn on_sockets(
    scenario: &Scenario,
    interrupt: &Interrupt,
) -> Result<(Experiment, Option<String>), Failure> {
    others::tell();
    let busiest = Busiest::begin();
    let progress = Progress::new(pieces(scenario, true));
    let mut driver = Loopback::new(scenario, interrupt);
    let mut watcher = Watcher::new(&progress, interrupt);
    let experiment = tailwater_experiment::run(scenario, &mut driver, &mut watcher)?;
    let blame = busiest.blame(&experiment);
    Ok((experiment, blame))
}

/// Everything, or what was done when a signal came. Simulated runs that are under way are done first.
fn simulate(
    scenario: &Scenario,
    threads: Option<usize>,
    interrupt: &Interrupt,
) -> Result<Experiment, Failure> {
    let available = std::thread::available_parallelism().map_or(1, usize::from);
    let progress = Progress::new(pieces(scenario, false));
    let within = progress.within();
    let advance = |share| within.advance(share);
    let simulator = Simulator::new(scenario).telling(&advance);
    let stops = || interrupt.signal().is_some();
    let threads = threads.unwrap_or(available).max(1);
    let mut driver = Simulation { simulator, threads, stops: &stops };
    let mut watcher = Watcher::new(&progress, interrupt);
    let simulated = tailwater_experiment::run(scenario, &mut driver, &mut watcher);
    simulated.map_err(|trouble| match trouble {
        Trouble::Broken(broken) => Failure::work(broken),
        author => Failure::usage(author),
    })
}

/// What was run before the signal, if anything was; else the signal.
fn cut_short(
    scenario: &Scenario,
    mut experiment: Experiment,
    ended: &Failure,
) -> Result<Experiment, Failure> {
    if experiment.runs.is_empty() {
        return Err(Failure::clone(ended).and("no run took place"));
    }
    let why = format!("{ended} after {} of {} runs", experiment.runs.len(), scenario.runs());
    experiment.cut_short = Some(why);
    Ok(experiment)
}
