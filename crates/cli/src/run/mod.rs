//! `tailwater run`: a scenario file on loopback or in simulation, and what is said about it.

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
use folder::Folder;
use interrupt::Interrupt;
use loopback::Loopback;
use progress::Progress;
use simulation::Simulation;
use tailwater_experiment::{check, pieces};
use tailwater_sim::{Failure as Trouble, Simulator};
use tailwater_stats::result::Experiment;
use tailwater_workload::Scenario;
use watch::Watcher;

pub(crate) fn run(options: &RunOptions) -> Result<(), Failure> {
    let counts = run_text(options, &scenarios::read(&options.file)?)?;
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

/// Runs a scenario whose text is at hand. Whether some run counts.
pub(crate) fn run_text(options: &RunOptions, text: &str) -> Result<bool, Failure> {
    let mut scenario = scenarios::parse(&options.file, text)?;
    check(&scenario).map_err(Failure::usage)?;
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
    let experiment = match options.on {
        Driver::Loopback => {
            scenario.needs_simulator().map_or(Ok(()), Err).map_err(Failure::usage)?;
            applications::of(&scenario).map_err(Failure::usage)?;
            cores::check(&scenario)?;
            others::tell();
            if options.threads.is_some() {
                let why = "--threads is given, but runs over sockets would disturb each other";
                return Err(Failure::usage(format!("{why}; leave it out, or type --on sim")));
            }
            let progress = Progress::new(pieces(&scenario, true));
            let mut driver = Loopback::new(&scenario, &interrupt);
            tailwater_experiment::run(
                &scenario,
                &mut driver,
                &mut Watcher::new(&progress, &interrupt),
            )?
        }
        Driver::Sim => {
            scenario.needs_sockets().map_or(Ok(()), Err).map_err(Failure::usage)?;
            let simulated = simulate(&scenario, options.threads, &interrupt);
            simulated.map_err(|trouble| match trouble {
                Trouble::Broken(broken) => Failure::work(broken),
                author => Failure::usage(author),
            })?
        }
    };
    match interrupt.signal() {
        None => {
            output::deliver(&experiment, options.json, out.as_ref())?;
            Ok(experiment.runs.iter().any(|run| run.valid))
        }
        Some(signal) => {
            let experiment = cut_short(&scenario, experiment, &Failure::signal(signal))?;
            output::deliver(&experiment, options.json, out.as_ref())?;
            Err(Failure::signal(signal).and("the result holds what was run before"))
        }
    }
}

/// Everything, or what was done when a signal came. Simulated runs that are under way are done first.
fn simulate(
    scenario: &Scenario,
    threads: Option<usize>,
    interrupt: &Interrupt,
) -> Result<Experiment, Trouble> {
    let available = std::thread::available_parallelism().map_or(1, usize::from);
    let progress = Progress::new(pieces(scenario, false));
    let within = progress.within();
    let advance = |share| within.advance(share);
    let simulator = Simulator::new(scenario).telling(&advance);
    let mut driver = Simulation { simulator, threads: threads.unwrap_or(available).max(1) };
    tailwater_experiment::run(scenario, &mut driver, &mut Watcher::new(&progress, interrupt))
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
