//! `ready`: finding the queues with work among thousands, by tailwater's ready set and by what else there is.
//!
//! `README.md` says what is measured and judged.

#![forbid(unsafe_code)]

mod machine;
mod measure;
mod mechanism;
mod queue;
mod report;
mod shape;

use clap::{Parser, ValueEnum};
use machine::Cores;
use measure::{Latency, Throughput};
use mechanism::Mechanism;
use report::{Report, median};
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

/// The thesis' numbers of queues (Fig. 5.2), and beyond.
const QUEUES: &[usize] = &[1, 2, 5, 10, 50, 100, 200, 500, 1_000, 4_096, 16_384, 65_536];
const SHORT_QUEUES: &[usize] = &[1, 100, 1_000];
/// Trips of a cache line in each round.
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
    let descriptors = machine::raise_descriptor_limit();
    let cores = Cores::first_two()?;
    let rounds = if args.short { 1 } else { args.rounds.max(1) };
    let window = Duration::from_millis(if args.short { 10 } else { args.window_ms.max(1) });
    let mut report = Report::new(args.short, args.pollute);
    for round in 0..rounds {
        report.hand_over_ns.push(measure::hand_over(cores, TRIPS)?);
        for (mechanism, queues, shape) in cases(args, descriptors) {
            let drawn = shape.draw(queues, u64::from(round));
            let (drawn, pollutes) = (&drawn[..], args.pollute);
            let task = Throughput { cores, drawn, window, pollutes };
            let rps = told(mechanism, queues, mechanism.with(queues, task))?;
            report.case(mechanism, queues, shape).throughput_rps.push(rps);
            if shape == Shape::Fb {
                let task = Latency { cores, drawn, window, pollutes };
                let seen = told(mechanism, queues, mechanism.with(queues, task))?;
                let quantile = |share: f64| seen[(seen.len() as f64 * share) as usize] as f64;
                let case = report.case(mechanism, queues, shape);
                case.p50_ns.push(quantile(0.5));
                case.p99_ns.push(quantile(0.99));
            }
        }
    }
    let good = report.judge();
    report.print();
    if let Some(path) = &args.out {
        let text = serde_json::to_string_pretty(&report).map_err(|error| error.to_string())?;
        std::fs::write(path, text + "\n")
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    if median(&report.hand_over_ns).is_nan() {
        return Err("measured nothing".into());
    }
    Ok(good || args.short)
}

/// Mechanisms of one case are neighbours, so that what disturbs one disturbs the others.
fn cases(args: &Args, descriptors: u64) -> Vec<(Mechanism, usize, Shape)> {
    let queues: Vec<usize> = match (&args.queues[..], args.short) {
        ([], true) => SHORT_QUEUES.to_vec(),
        ([], false) => QUEUES.to_vec(),
        (some, _) => some.to_vec(),
    };
    let mut shapes = chosen(&args.shapes);
    if args.short && args.shapes.is_empty() {
        shapes = vec![Shape::Fb, Shape::Sq];
    }
    let mut cases = Vec::new();
    for &queues in &queues {
        for &shape in &shapes {
            for mechanism in chosen(&args.mechanisms) {
                if queues <= mechanism.queues_max(descriptors) {
                    cases.push((mechanism, queues, shape));
                }
            }
        }
    }
    cases
}

fn chosen<T: ValueEnum + Copy>(asked: &[T]) -> Vec<T> {
    if asked.is_empty() { T::value_variants().to_vec() } else { asked.to_vec() }
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
