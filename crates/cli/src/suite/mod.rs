//! `tailwater suite`: the services of µSuite, each in three tiers, on data that are prepared once.

mod choice;
mod demo;
mod list;
mod traits;

pub(crate) use choice::ChoiceOptions;

use crate::data_folder::DataFolder;
use crate::failure::Failure;
use crate::run::RunOptions;
use crate::{run, two_cores};
use clap::{Args, Subcommand};
use std::path::PathBuf;
use tailwater_workload::Scenario;
use tailwater_workload::limits::REPETITIONS_MAX;

/// What can be done.
#[derive(Subcommand, Debug)]
pub(crate) enum SuiteVerb {
    /// List the services and their settings.
    List(list::ListOptions),
    /// Prepare a service's data, start its tiers, ask it at several loads, check every answer, and report.
    #[command(after_help = RUN_HELP)]
    Run(SuiteRunOptions),
    /// Show the services that answer words: pages with search boxes, whose questions real tiers answer.
    #[command(after_help = demo::HELP)]
    Demo(demo::DemoOptions),
    /// What services ask of the operating system: saturation, latency at three loads, and for each tier system calls,
    /// context switches, waits for a core and softirqs per query.
    #[command(after_help = traits::HELP)]
    Traits(traits::TraitsOptions),
}

const RUN_HELP: &str = "Examples:
  tailwater suite run setalgebra
  tailwater suite run setalgebra --set text=generated --set documents=1000000 --leaves 8
  tailwater suite run setalgebra --set intersect=merge --json > merge.json
  tailwater suite run router --set leaf=memcached
  tailwater suite run router --set front=memcached

One wrong answer voids its run, and the result says so; where no run is valid the exit code is 1. The scenario is \
scenarios/NAME.toml of tailwater's sources, and scenarios/router-memcached.toml for leaf=memcached or \
scenarios/router-front-memcached.toml for front=memcached; tailwater run plays it with changes of your own.";

#[derive(Args, Debug)]
pub(crate) struct SuiteRunOptions {
    #[command(flatten)]
    choice: ChoiceOptions,
    /// Instead of the scenario's seed: decides which queries are asked when.
    #[arg(long)]
    seed: Option<u64>,
    /// Print the result as one JSON object.
    #[arg(long)]
    json: bool,
    /// Write JSON, CSV, plots and an HTML page here.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// A short version: one repetition, lowest and highest demand. Its numbers prove that it works, and nothing else.
    /// Also by TAILWATER_SHORT=1.
    #[arg(long)]
    short: bool,
    /// Instead of the scenario's number of repetitions.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=REPETITIONS_MAX as i64))]
    repetitions: Option<u32>,
    #[command(flatten)]
    data: DataFolder,
}

pub(crate) fn suite(verb: &SuiteVerb) -> Result<(), Failure> {
    match verb {
        SuiteVerb::List(options) => list::list(options),
        SuiteVerb::Run(options) => run(options),
        SuiteVerb::Demo(options) => demo::demo(options),
        SuiteVerb::Traits(options) => traits::traits(options),
    }
}

fn run(options: &SuiteRunOptions) -> Result<(), Failure> {
    let choice = options.choice.choice();
    let mut scenario = choice.scenario()?;
    place(&mut scenario)?;
    let options = RunOptions {
        seed: options.seed,
        json: options.json,
        out: options.out.clone(),
        short: options.short,
        repetitions: options.repetitions,
        data: options.data.clone(),
        ..RunOptions::on_loopback(choice.file())
    };
    run::concluded(&options, scenario)
}

/// The front on a core of its own, leaves and clients on another; nowhere in particular where there is one core.
fn place(scenario: &mut Scenario) -> Result<(), Failure> {
    let (front, others) = match two_cores::two()? {
        Some((front, other)) => (vec![front], vec![other]),
        None => (Vec::new(), Vec::new()),
    };
    scenario.server.cores = front;
    scenario.clients.cores.clone_from(&others);
    scenario.tiers.iter_mut().for_each(|tier| tier.pin.clone_from(&others));
    Ok(())
}
