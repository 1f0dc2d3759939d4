//! `locks`: nanoseconds per acquisition of tailwater's locks and their twins, in one interleaved run.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

mod locks;

use clap::Parser;
use locks::{CASES, Case};
use machine::Origin;
use machine::result::write;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// What one lock and unlock costs in tailwater, std, parking_lot and tokio.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// Rounds, each of which measures every lock once.
    #[arg(long, default_value_t = 51, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Writes every round as JSON to this file.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Shows only that everything works.
    #[arg(long)]
    short: bool,
}

/// Everything that was measured.
#[derive(Serialize)]
struct Report {
    short: bool,
    #[serde(flatten)]
    origin: Origin,
    /// Acquisitions of each lock in a round.
    times: u32,
    cases: Vec<Found>,
}

/// A lock in one situation, and what it took.
#[derive(Serialize)]
struct Found {
    case: &'static str,
    lock: &'static str,
    /// The lock of the same case that it is compared with; empty where there is none.
    twin: &'static str,
    /// Nanoseconds per acquisition, once for each round.
    ns: Vec<f64>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let (rounds, times) = if args.short { (7, 20_000) } else { (args.rounds, 200_000) };
    let report = measure(args.short, rounds, times);
    report.print();
    if let Some(Err(error)) = args.out.map(|path| write(&path, &report)) {
        eprintln!("locks: {error}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// A round measures all, so that what disturbs one disturbs its twin.
fn measure(short: bool, rounds: u32, times: u32) -> Report {
    let origin = Origin::now();
    let begin = |&Case { case, lock, twin, .. }: &Case| Found { case, lock, twin, ns: vec![] };
    let mut cases: Vec<Found> = CASES.iter().map(begin).collect();
    for _ in 0..rounds {
        for (case, found) in CASES.iter().zip(&mut cases) {
            found.ns.push((case.run)(times));
        }
    }
    Report { short, origin, times, cases }
}

impl Report {
    /// Medians, and their ratio to the twin's.
    fn print(&self) {
        println!("{:<12} {:<28} {:>8} {:>9}", "case", "lock", "ns", "to twin");
        for found in &self.cases {
            let is_twin = |other: &&Found| other.case == found.case && other.lock == found.twin;
            let (ns, twin) = (found.median(), self.cases.iter().find(is_twin));
            let ratio = twin.map_or(1.0, |twin| ns / twin.median());
            println!("{:<12} {:<28} {ns:>8.1} {ratio:>9.2}", found.case, found.lock);
        }
    }
}

impl Found {
    fn median(&self) -> f64 {
        let mut ns = self.ns.clone();
        ns.sort_by(f64::total_cmp);
        f64::midpoint(ns[(ns.len() - 1) / 2], ns[ns.len() / 2])
    }
}
