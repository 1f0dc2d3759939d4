//! `tuning`: what `tailwater tune` finds where nothing differs, and where an effect is planted.
//!
//! `README.md` says what is measured and judged.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

mod block;
mod redraw;
mod compare;
mod killed;
mod machine;

use ::machine::result::write;
use clap::Parser;
use compare::{Live, Planted};
use killed::Killed;
use redraw::Redrawn;
use serde::{Deserialize, Serialize};
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
    /// How often a test that turns a knob of this machine's kernel is killed, which takes root.
    #[arg(long, default_value_t = 100)]
    kills: u32,
    /// Writes everything as JSON to this file, once all of it is made. What is made until then lies beside it, as
    /// FILE.part, and is taken by --into.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Makes comparisons alone, live and planted, and adds each to this result, an earlier `--out` of the same machine.
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
#[derive(Serialize, Deserialize)]
struct Found {
    manifest: Manifest,
    /// When comparisons were added later.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    added_unix: Vec<u64>,
    redrawn: Redrawn,
    live: Live,
    planted: Vec<Planted>,
    /// Of a knob of the kernel; none where it was not tried.
    #[serde(default)]
    killed: Option<Killed>,
}

/// How many comparisons are made, and of what: those of each planted effect.
struct Wanted {
    live: u32,
    planted: u32,
    units: u64,
    short: bool,
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
        Some(path) => more(&args, path),
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

/// Adds comparisons to a result; whether every goal is met with them.
fn more(args: &Args, path: &Path) -> Result<bool, String> {
    let trouble = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| trouble(&error))?;
    let mut found: Found = serde_json::from_str(&text).map_err(|error| trouble(&error))?;
    let here = machine::here();
    let named = |of: &Manifest| format!("{}, {} cores, Linux {}", of.cpu, of.cpus, of.kernel);
    let [there, here_named] = [&found.manifest, &here].map(named);
    if there != here_named {
        return Err(trouble(&format!("its machine is {there}; this one is {here_named}")));
    }
    found.added_unix.push(here.started_unix);
    let (live, planted) = (args.live, args.planted);
    let wanted = Wanted { live, planted, units: block::UNITS, short: false };
    // Whole before, it is whole with each comparison more.
    compared(&mut found, &wanted, Some(path))?;
    Ok(judged(&found))
}

/// Whether every goal was met.
fn run(args: &Args) -> Result<bool, String> {
    let (blocks, live, planted) =
        if args.short { (200, 1, 1) } else { (args.blocks, args.live, args.planted) };
    let units = if args.short { block::UNITS / 20 } else { block::UNITS };
    let manifest = machine::here();
    let redrawn = redraw::redrawn(&block::record(units, blocks)?)?;
    println!("{redrawn}");
    let effects = if args.short { &EFFECTS[2..] } else { &EFFECTS };
    let mut found = Found {
        manifest,
        added_unix: Vec::new(),
        redrawn,
        live: Live::default(),
        planted: effects.iter().map(|effect| Planted::none(*effect)).collect(),
        killed: None,
    };
    let wanted = Wanted { live, planted, units, short: args.short };
    let part = args.out.as_deref().map(part);
    if let Some(part) = &part {
        write(part, &found)?;
    }
    compared(&mut found, &wanted, part.as_deref())?;
    if !args.short {
        kill(&mut found, args)?;
    }
    if let (Some(part), Some(out)) = (part, &args.out) {
        write(&part, &found)?;
        std::fs::rename(&part, out).map_err(|error| format!("{}: {error}", out.display()))?;
    }
    Ok(args.short || judged(&found))
}

/// What is made of a result until it is whole.
fn part(out: &Path) -> PathBuf {
    let mut name = out.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

/// Kills tests of a knob, at moments that the time of the start decides.
fn kill(found: &mut Found, args: &Args) -> Result<(), String> {
    found.killed = killed::killed(args.kills, found.manifest.started_unix)?;
    if let Some(killed) = &found.killed {
        println!("{killed}");
    }
    Ok(())
}

/// Makes comparisons. Each is written at once: a run that is cut short keeps what it has.
fn compared(found: &mut Found, wanted: &Wanted, to: Option<&Path>) -> Result<(), String> {
    let save = |found: &Found| to.map_or(Ok(()), |path| write(path, found));
    for _ in 0..wanted.live {
        found.live.add(compare::live(wanted.units, wanted.short)?);
        save(found)?;
    }
    println!("{}", found.live);
    for at in 0..found.planted.len() {
        for _ in 0..wanted.planted {
            let effect = found.planted[at].effect;
            found.planted[at].add(compare::planted(wanted.units, effect, wanted.short)?);
            save(found)?;
        }
        println!("{}", found.planted[at]);
    }
    Ok(())
}

fn judged(found: &Found) -> bool {
    let good = found.redrawn.is_good()
        && found.live.is_good()
        && found.planted.iter().all(Planted::is_good)
        && found.killed.as_ref().is_none_or(Killed::is_good);
    let tried = match &found.killed {
        Some(_) => "every goal is met",
        None => "every goal that was tried is met; kills of a real knob were not tried",
    };
    println!("{}", if good { tried } else { "a goal is missed" });
    good
}
