//! `tailwater run`: a scenario file on loopback or in simulation, and what is said about it.

mod deployment;
mod flags;
mod interrupt;
mod loopback;
mod machine;
mod others;
pub(crate) mod output;
mod process;
pub(crate) mod progress;
mod watch;

use crate::applications;
use crate::args::{Driver, RunOptions};
use crate::failure::Failure;
use interrupt::Interrupt;
use loopback::Loopback;
use tailwater_experiment::{check, pieces};
use tailwater_sim::{Failure as Trouble, Simulator};
use tailwater_stats::result::Experiment;
use tailwater_workload::Scenario;
use watch::Watcher;

pub(crate) fn run(options: &RunOptions) -> Result<(), Failure> {
    let file = options.file.display();
    let text = std::fs::read_to_string(&options.file)
        .map_err(|error| Failure::usage(format!("{file}: {error}")))?;
    run_text(options, &text)
}

/// Runs a scenario whose text is at hand.
pub(crate) fn run_text(options: &RunOptions, text: &str) -> Result<(), Failure> {
    let file = options.file.display().to_string();
    let mut scenario = Scenario::parse(&file, text).map_err(Failure::usage)?;
    check(&scenario).map_err(Failure::usage)?;
    if options.short || std::env::var_os("TAILWATER_SHORT").is_some_and(|value| value == "1") {
        scenario = scenario.shorten();
    }
    if let Some(seed) = options.seed {
        scenario.seed = seed;
    }
    if let Some(repetitions) = options.repetitions {
        scenario.repetitions = repetitions.max(1);
    }
    let interrupt = Interrupt::watch()?;
    let experiment = match options.on {
        Driver::Loopback => {
            scenario.needs_simulator().map_or(Ok(()), Err).map_err(Failure::usage)?;
            applications::of(&scenario).map_err(Failure::usage)?;
            others::tell();
            play(&scenario, &mut Loopback::new(&scenario, &interrupt), &interrupt)?
        }
        Driver::Sim => {
            scenario.needs_sockets().map_or(Ok(()), Err).map_err(Failure::usage)?;
            let simulated = play(&scenario, &mut Simulator::new(&scenario), &interrupt);
            simulated.map_err(|trouble| match trouble {
                Trouble::Broken(broken) => Failure::work(broken),
                author => Failure::usage(author),
            })?
        }
    };
    match interrupt.signal() {
        None => output::deliver(&experiment, options.json, options.out.as_deref()),
        Some(signal) => deliver_part(options, &scenario, experiment, Failure::signal(signal)),
    }
}

/// Everything, or what was done when a signal came. A simulated run that is under way is done first.
fn play<D: tailwater_experiment::Driver>(
    scenario: &Scenario,
    driver: &mut D,
    interrupt: &Interrupt,
) -> Result<Experiment, D::Failure> {
    let mut watcher = Watcher::new(pieces(scenario, driver.drifts()), interrupt);
    tailwater_experiment::run(scenario, driver, &mut watcher)
}

/// What was run before the signal, if anything was. Fails with the signal, as the run did.
fn deliver_part(
    options: &RunOptions,
    scenario: &Scenario,
    mut experiment: Experiment,
    ended: Failure,
) -> Result<(), Failure> {
    if experiment.runs.is_empty() {
        return Err(ended.and("no run took place"));
    }
    let why = format!("{ended} after {} of {} runs", experiment.runs.len(), scenario.runs());
    experiment.cut_short = Some(why);
    output::deliver(&experiment, options.json, options.out.as_deref())?;
    Err(ended.and("the result holds what was run before"))
}
