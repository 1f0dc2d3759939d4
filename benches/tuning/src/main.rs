//! `tuning`: what `tailwater tune` finds where nothing differs, and where an effect is planted.
//!
//! `README.md` says what is measured and judged. [`found`] is the result, to which each sitting adds its lines.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

mod block;
mod redraw;
mod compare;
mod killed;
mod found;

use clap::{Parser, ValueEnum};
use compare::EFFECTS;
use found::Growing;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tailwater_core::duration::parse_duration;

/// What `tailwater tune` finds where nothing differs, and where an effect is planted.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// Only this part; may be given several times. All of them take hours: each can have a sitting of its own.
    #[arg(long, value_enum, value_name = "PART")]
    only: Vec<Part>,
    /// For how long blocks are recorded for redrawing, all in one sitting.
    #[arg(long, value_name = "TIME", default_value = "60min", value_parser = parse_duration)]
    recorded: Duration,
    /// Live comparisons of the program with itself.
    #[arg(long, default_value_t = 20)]
    live: u32,
    /// Comparisons for each planted effect; left out: 40 of 1 %, and 20 of 2 and of 5 %.
    #[arg(long)]
    planted: Option<u32>,
    /// How often a test that turns a knob of this machine's kernel is killed, which takes root.
    #[arg(long, default_value_t = 100)]
    kills: u32,
    /// Adds everything as JSON to this file, each comparison as it is made, and judges all that is in it.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Shows only that everything works: few blocks, and no verdict.
    #[arg(long, conflicts_with = "out")]
    short: bool,
    /// Do one block of so many units of work and print what it cost.
    #[arg(long, hide = true)]
    block: Option<u64>,
    /// Names an arm, and does nothing.
    #[arg(long, hide = true)]
    arm: Option<String>,
}

/// What a sitting may be of.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Real blocks, recorded once, whose coins are thrown anew.
    Redrawn,
    /// The program compared with itself.
    Live,
    /// The program compared with more work.
    Planted,
    /// A test that is killed while a knob of the kernel is turned.
    Killed,
}

fn main() -> ExitCode {
    let args = Args::parse();
    if let Some(units) = args.block {
        println!("{{\"cpu_ns\": {}}}", block::cost(units));
        return ExitCode::SUCCESS;
    }
    match run(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("tuning: {error}");
            ExitCode::from(2)
        }
    }
}

/// Whether no goal was missed.
fn run(args: &Args) -> Result<bool, String> {
    let mut result = Growing::open(args.out.clone())?;
    let parts = if args.only.is_empty() { Part::value_variants() } else { &args.only[..] };
    for part in parts {
        take(*part, args, &mut result)?;
    }
    if args.short {
        result.shown();
        return Ok(true);
    }
    Ok(result.judged())
}

fn take(part: Part, args: &Args, result: &mut Growing) -> Result<(), String> {
    let short = args.short;
    let units = if short { block::UNITS / 20 } else { block::UNITS };
    match part {
        Part::Redrawn => {
            let began = Instant::now();
            let time = if short { Duration::ZERO } else { args.recorded };
            let blocks = block::record(units, time, redraw::FEWEST)?;
            result.redrawn(redraw::redrawn(&blocks, began.elapsed())?)
        }
        Part::Live => {
            let comparisons = if short { 1 } else { args.live };
            (0..comparisons).try_for_each(|_| result.live(compare::live(units, short)?))
        }
        Part::Planted => {
            let effects = if short { &EFFECTS[2..] } else { &EFFECTS };
            effects.iter().try_for_each(|&(effect, enough)| {
                let comparisons = if short { 1 } else { args.planted.unwrap_or(enough) };
                (0..comparisons)
                    .try_for_each(|_| result.planted(compare::planted(units, effect, short)?))
            })
        }
        // A short pass turns no knob.
        Part::Killed if short => Ok(()),
        Part::Killed => match killed::killed(args.kills, result.seed())? {
            Some(found) => result.killed(found),
            None => Ok(()),
        },
    }
}
