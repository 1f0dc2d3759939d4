//! `threads`: tailwater's threading models, and what changes of them cost.
//!
//! `README.md` says what is measured and judged.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

mod alone;
mod answers;
mod catalogue;
mod counts;
mod front;
mod hand_over;
mod memory;
mod open_loop;
mod pace;
mod programs;
mod report;
mod switches;
mod unloaded;
mod waits;

use clap::{Parser, ValueEnum};
use machine::result;
use report::Report;
use std::path::PathBuf;
use std::process::ExitCode;

/// tailwater's threading models, and what changes of them cost.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// Only these parts.
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Part>,
    /// Requests that each model answers.
    #[arg(long, default_value_t = 1_000_000)]
    requests: usize,
    /// Changes of the model.
    #[arg(long, default_value_t = 10_000)]
    switches: usize,
    /// Keeps what was found in this file, beside what it has of parts that were not run.
    #[arg(long, value_name = "FILE", conflicts_with = "short")]
    out: Option<PathBuf>,
    /// Shows only that everything works: seconds, and no verdict on times.
    #[arg(long)]
    short: bool,
    /// The front of the part `memory`, which starts it: serves with so many connections to this leaf.
    #[arg(long, hide = true, num_args = 2, value_names = ["ADDRESS", "CONNECTIONS"])]
    front: Option<Vec<String>>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    Answers,
    Unloaded,
    Switches,
    Memory,
    Pace,
}

/// Why a part could not be measured, or found a wrong answer. Whether its goals were met is in the report.
type Verdict = Result<(), Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("threads: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<bool, Box<dyn std::error::Error>> {
    if let Some([leaf, connections]) = args.front.as_deref() {
        return memory::front(leaf, connections).map(|()| true);
    }
    let mut report: Report = args.out.as_deref().map_or(Ok(Report::default()), result::read)?;
    for part in [Part::Answers, Part::Unloaded, Part::Switches, Part::Memory, Part::Pace] {
        if args.only.is_empty() || args.only.contains(&part) {
            measure(part, args, &mut report)?;
            // Each part for itself: a later one may fail.
            args.out.as_ref().map_or(Ok(()), |path| result::write(path, &report))?;
        }
    }
    Ok(args.short || report.has_met_all())
}

fn measure(part: Part, args: &Args, report: &mut Report) -> Verdict {
    let short = |usual: usize, short: usize| if args.short { short } else { usual };
    match part {
        Part::Answers => answers::run(report, short(args.requests, 2_000)),
        Part::Unloaded => unloaded::run(report, short(20, 1), short(200, 50)),
        Part::Switches => switches::run(report, short(args.switches, 100), args.short),
        Part::Memory => memory::run(report, short(1_000, 64)),
        Part::Pace => pace::run(report, short(5, 1), short(5, 1) as u64),
    }
}

/// The value below which so large a share of them lies (nearest rank), in the unit of `values`. Zero of none.
fn quantile(values: &mut [u64], share: f64) -> u64 {
    values.sort_unstable();
    let rank = (share * values.len() as f64).ceil() as usize;
    values.get(rank.saturating_sub(1)).copied().unwrap_or(0)
}
