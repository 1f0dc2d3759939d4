//! `tailwater run`: a scenario file on loopback or in simulation, and what is said about it.

pub(crate) mod check;
mod costs;
mod loopback;
mod machine;
pub(crate) mod output;
mod process;
pub(crate) mod progress;
mod sim;
mod steps;

use crate::applications;
use crate::args::{Driver, RunOptions};
use crate::failure::Failure;
use tailwater_workload::Scenario;

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
    check::controllers(&scenario).map_err(Failure::usage)?;
    if options.short || std::env::var_os("TAILWATER_SHORT").is_some_and(|value| value == "1") {
        scenario = scenario.shorten();
    }
    if let Some(seed) = options.seed {
        scenario.seed = seed;
    }
    if let Some(repetitions) = options.repetitions {
        scenario.repetitions = repetitions.max(1);
    }
    let experiment = match options.on {
        Driver::Loopback => {
            scenario.needs_simulator().map_or(Ok(()), Err).map_err(Failure::usage)?;
            applications::of(&scenario).map_err(Failure::usage)?;
            loopback::run(&scenario)?
        }
        Driver::Sim => {
            scenario.needs_sockets().map_or(Ok(()), Err).map_err(Failure::usage)?;
            sim::run(&scenario)?
        }
    };
    output::deliver(&experiment, options.json, options.out.as_deref())
}
