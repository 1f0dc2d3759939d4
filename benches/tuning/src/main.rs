//! `tuning`: what `tailwater tune` finds where nothing differs, and where an effect is planted.
//!
//! `README.md` says what is measured and judged.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

mod block;
mod redraw;
mod compare;
mod machine;

use ::machine::result::write;
use clap::Parser;
use compare::{Live, Planted};
use redraw::Redrawn;
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tailwater_stats::result::Manifest;

/// What `tailwater tune` finds where nothing differs, and where an effect is planted.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// Blocks that are recorded for redrawing.
    #[arg(long, default_value_t = 2_400)]
    blocks: usize,
    /// Live comparisons of the program with itself.
    #[arg(long, default_value_t = 20)]
    live: u32,
    /// Comparisons for each planted effect.
    #[arg(long, default_value_t = 8)]
    planted: u32,
    /// Writes everything as JSON to this file.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Makes live comparisons alone, and adds them to those of this result, an earlier `--out` of the same machine.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["out", "short"])]
    into: Option<PathBuf>,
    /// Shows only that everything works: few blocks, and no verdict.
    #[arg(long)]
    short: bool,
    /// Do one block of so many units of work and print what it cost.
    #[arg(long, hide = true)]
    block: Option<u64>,
    /// Names an arm, and does nothing.
    #[arg(long, hide = true)]
    arm: Option<String>,
}

/// Everything that was found.
#[derive(Serialize)]
struct Found {
    manifest: Manifest,
    redrawn: Redrawn,
    live: Live,
    planted: Vec<Planted>,
}

/// Of planted work.
const EFFECTS: [f64; 3] = [0.01, 0.02, 0.05];

fn main() -> ExitCode {
    let args = Args::parse();
    if let Some(units) = args.block {
        println!("{{\"cpu_ns\": {}}}", block::cost(units));
        return ExitCode::SUCCESS;
    }
    let done = match &args.into {
        Some(path) => more(args.live, path),
        None => run(&args),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("tuning: {error}");
            ExitCode::from(2)
        }
    }
}

/// Adds live comparisons to a result; whether all of them together are as many alarms as may be.
fn more(comparisons: u32, path: &Path) -> Result<bool, String> {
    let trouble = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| trouble(&error))?;
    let mut result: Value = serde_json::from_str(&text).map_err(|error| trouble(&error))?;
    let here = serde_json::to_value(machine::here()).map_err(|error| trouble(&error))?;
    for key in ["cpu", "cpus", "kernel"] {
        let (there, here) = (&result["manifest"][key], &here[key]);
        if there != here {
            return Err(trouble(&format!("its machine has {key} {there}, this one {here}")));
        }
    }
    let live = compare::live(block::UNITS, comparisons, false)?;
    println!("{live}");
    let live = Live::both(
        serde_json::from_value(result["live"].take()).map_err(|error| trouble(&error))?,
        live,
    );
    println!("with those of before, {live}");
    result["live"] = serde_json::to_value(&live).map_err(|error| trouble(&error))?;
    write(path, &result)?;
    Ok(live.is_good())
}

/// Whether every goal was met.
fn run(args: &Args) -> Result<bool, String> {
    let (blocks, live, planted) =
        if args.short { (200, 1, 1) } else { (args.blocks, args.live, args.planted) };
    let units = if args.short { block::UNITS / 20 } else { block::UNITS };
    let manifest = machine::here();
    let redrawn = redraw::redrawn(&block::record(units, blocks)?)?;
    println!("{redrawn}");
    let live = compare::live(units, live, args.short)?;
    println!("{live}");
    let mut all = Vec::new();
    for effect in if args.short { &EFFECTS[2..] } else { &EFFECTS } {
        let found = compare::planted(units, *effect, planted, args.short)?;
        println!("{found}");
        all.push(found);
    }
    let found = Found { manifest, redrawn, live, planted: all };
    if let Some(path) = &args.out {
        write(path, &found)?;
    }
    let good = found.redrawn.is_good()
        && found.live.is_good()
        && found.planted.iter().all(Planted::is_good);
    if !args.short {
        println!("{}", if good { "every goal is met" } else { "a goal is missed" });
    }
    Ok(good || args.short)
}
