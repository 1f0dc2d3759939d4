//! `ready`: finding the queues with work among thousands, by tailwater's ready set and by what else there is.
//!
//! `README.md` says what is measured and judged.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

/// The runtime's own source: its bell is not public.
#[path = "../../../crates/rt/src/bell.rs"]
mod bell;
mod handler;
mod cores;
mod measure;
mod mechanism;
mod plan;
mod primitive;
mod queue;
mod report;
mod shape;

use clap::Parser;
use cores::Cores;
use handler::{Kind, Maker};
use measure::{Latency, Poisson, Setting, Throughput};
use mechanism::Mechanism;
use plan::Chosen;
use report::{BOUNDS_US, Case, Load, Report};
use shape::Shape;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Finding the queues with work among thousands.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// Only these mechanisms.
    #[arg(long, value_enum, value_delimiter = ',')]
    mechanisms: Vec<Mechanism>,
    /// Only these traffic shapes.
    #[arg(long, value_enum, value_delimiter = ',')]
    shapes: Vec<Shape>,
    /// Only these numbers of queues.
    #[arg(long, value_delimiter = ',')]
    queues: Vec<usize>,
    /// Only these handlers; the default is none.
    #[arg(long, value_enum, value_delimiter = ',')]
    handlers: Vec<Kind>,
    /// Also the cases of the thesis' figures: four handlers, a clean and a polluted cache, and loads.
    #[arg(long)]
    figures: bool,
    /// Rounds, each of which measures every case once.
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// Measured time of one case in one round, in milliseconds.
    #[arg(long, default_value_t = 100)]
    window_ms: u64,
    /// The handler reads a mebibyte for each item, so that nothing of the queues stays in the caches.
    #[arg(long)]
    pollute: bool,
    /// Writes everything as JSON to this file.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Shows only that everything works: few cases for a moment, and no verdict.
    #[arg(long)]
    short: bool,
}

/// Trips of a cache line, and reads of the clock, before each case.
const TRIPS: u64 = 20_000;

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("ready: {error}");
            ExitCode::from(2)
        }
    }
}

/// Whether every goal was met.
fn run(args: &Args) -> Result<bool, String> {
    let descriptors = cores::raise_descriptor_limit();
    let refused = mechanism::uring::refused();
    let chosen = Chosen {
        mechanisms: args.mechanisms.clone(),
        shapes: args.shapes.clone(),
        queues: args.queues.clone(),
        handlers: args.handlers.clone(),
        pollutes: args.pollute,
        figures: args.figures,
        short: args.short,
        uring: refused.is_none(),
    };
    let makers: Result<Vec<Maker>, String> =
        chosen.handlers().into_iter().map(Maker::new).collect();
    let rounds = if args.short { 1 } else { args.rounds.max(1) };
    let window = Duration::from_millis(if args.short { 10 } else { args.window_ms.max(1) });
    let bench = Bench { cores: Cores::first_two()?, window, makers: makers? };
    let mut report = Report::new(args.short);
    report.left_out.extend(refused);
    for round in 0..rounds {
        let (cases, loads) = (chosen.cases(descriptors).len(), chosen.loads().len());
        eprintln!("round {} of {rounds}: {cases} cases, {loads} loads", round + 1);
        for case in chosen.cases(descriptors) {
            bench.measure(&mut report, case, round.into())?;
        }
        for load in chosen.loads() {
            bench.measure_load(&mut report, load, round.into())?;
        }
    }
    let good = report.judge();
    report.print();
    if let Some(path) = &args.out {
        let text = serde_json::to_string(&report).map_err(|error| error.to_string())?;
        std::fs::write(path, text + "\n")
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    if report.cases.is_empty() {
        return Err("measured nothing".into());
    }
    Ok(good || args.short)
}

/// What all measurements have in common.
struct Bench {
    cores: Cores,
    window: Duration,
    makers: Vec<Maker>,
}

impl Bench {
    fn setting<'a>(&'a self, drawn: &'a [u32], handler: Kind, pollutes: bool) -> Setting<'a> {
        let maker = self.makers.iter().find(|maker| maker.kind == handler);
        let handler = maker.expect("a plan names the handlers of its cases");
        Setting { cores: self.cores, drawn, window: self.window, handler, pollutes }
    }

    fn measure(&self, report: &mut Report, case: Case, round: u64) -> Result<(), String> {
        let Case { mechanism, queues, shape, handler, pollutes } = case;
        let drawn = shape.draw(queues, round);
        let setting = self.setting(&drawn, handler, pollutes);
        let hand_over_ns = measure::hand_over(self.cores, TRIPS)?;
        let clock_ns = measure::clock(self.cores, TRIPS)?;
        let rps = told(mechanism, queues, mechanism.with(queues, Throughput(setting)))?;
        let found = report.case(case);
        found.hand_over_ns.push(hand_over_ns);
        found.clock_ns.push(clock_ns);
        found.throughput_rps.push(rps);
        if shape == Shape::Fb {
            let seen = told(mechanism, queues, mechanism.with(queues, Latency(setting)))?;
            report.case(case).light.add(&seen);
        }
        Ok(())
    }

    fn measure_load(&self, report: &mut Report, load: Load, round: u64) -> Result<(), String> {
        let Load { mechanism, queues, handler, share } = load;
        // Several are held against one peak, that of the ready set.
        let of = if queues == 1 { mechanism } else { Mechanism::Ready };
        let (shape, pollutes) = (Shape::Fb, false);
        let peak = Case { mechanism: of, queues, shape, handler, pollutes };
        let peak =
            report.last_peak(peak).ok_or("a load needs the peak of its case: measure it, too")?;
        let drawn = shape.draw(queues, round);
        let setting = self.setting(&drawn, handler, pollutes);
        let task = Poisson { setting, rate_rps: peak * share, seed: round };
        let seen = told(mechanism, queues, mechanism.with(queues, task))?;
        let loaded = report.load(load);
        loaded.offered_rps.push(peak * share);
        loaded.seen.add(&seen);
        for ns in seen {
            loaded.counts[BOUNDS_US.iter().filter(|bound| ns >= **bound * 1_000).count()] += 1;
        }
        Ok(())
    }
}

/// An error of either kind with the case that it is of.
fn told<T>(
    mechanism: Mechanism,
    queues: usize,
    result: Result<Result<T, String>, String>,
) -> Result<T, String> {
    result
        .and_then(|inner| inner)
        .map_err(|error| format!("{} with {queues} queues: {error}", mechanism.name()))
}
