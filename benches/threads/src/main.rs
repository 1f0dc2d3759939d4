//! `threads`: tailwater's threading models, and what changes of them cost.
//!
//! `README.md` says what is measured and judged.

#![forbid(unsafe_code)]

mod answers;
mod catalogue;
mod front;
mod memory;
mod open_loop;
mod switches;
mod unloaded;

use clap::{Parser, ValueEnum};
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
}

/// Whether a part met its goals, or why it could not be measured.
type Verdict = Result<bool, Box<dyn std::error::Error>>;

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

fn run(args: &Args) -> Verdict {
    if let Some([leaf, connections]) = args.front.as_deref() {
        return memory::front(leaf, connections);
    }
    let asked = |part| args.only.is_empty() || args.only.contains(&part);
    let short = |usual: usize, short: usize| if args.short { short } else { usual };
    let mut met = true;
    if asked(Part::Answers) {
        met &= answers::run(short(args.requests, 2_000))?;
    }
    if asked(Part::Unloaded) {
        met &= unloaded::run(short(20, 1), short(200, 50))?;
    }
    if asked(Part::Switches) {
        met &= switches::run(short(args.switches, 100), args.short)?;
    }
    if asked(Part::Memory) {
        met &= memory::run(short(1_000, 64), args.short)?;
    }
    Ok(met || args.short)
}

/// Says whether a goal was met.
fn judge(goal: &str, found: &str, met: bool) -> bool {
    println!("{} {goal}: {found}", if met { "met   " } else { "MISSED" });
    met
}

/// The value below which so large a share of them lies (nearest rank), in the unit of `values`. Zero of none.
fn quantile(values: &mut [u64], share: f64) -> u64 {
    values.sort_unstable();
    let rank = (share * values.len() as f64).ceil() as usize;
    values.get(rank.saturating_sub(1)).copied().unwrap_or(0)
}
