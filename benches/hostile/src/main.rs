//! `hostile`: what one attacker thread costs an honest client of a tailwater server.
//!
//! `README.md` says what is attacked, measured and judged.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

mod attack;
mod attacker;
mod honest;
mod machine;
mod programs;
mod report;

use attack::Attack;
use attacker::{Attacker, Deed};
use clap::{Parser, ValueEnum as _};
use honest::Span;
use programs::{Programs, Server};
use report::{Pair, Report};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// What one attacker thread costs an honest client of a tailwater server.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// Only these attacks.
    #[arg(long, value_enum)]
    only: Vec<Attack>,
    /// Repetitions, each of attack, baseline, baseline, attack.
    #[arg(long, default_value_t = 5)]
    repetitions: u32,
    /// Measured time of one run, in milliseconds.
    #[arg(long, default_value_t = 3_000)]
    window_ms: u64,
    /// Shows only that everything works.
    #[arg(long)]
    short: bool,
    /// Print every run as one JSON object.
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    let done = run(&Args::parse());
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("hostile: {error}");
            ExitCode::from(2)
        }
    }
}

/// Twice what the slowest convergence of the default law takes.
const WARM_UP: Duration = Duration::from_secs(2);
/// Each part of a short pass, of which nothing is judged: two slices of the p99.
const SHORT: Duration = Duration::from_millis(200);

/// Whether every goal was met.
fn run(args: &Args) -> Result<bool, String> {
    machine::raise_descriptor_limit();
    let programs = Programs::find()?;
    let attacks = if args.only.is_empty() { Attack::value_variants() } else { &args.only[..] };
    let (repetitions, warm_up, window) = if args.short {
        (1, SHORT, SHORT)
    } else {
        (args.repetitions.max(1), WARM_UP, Duration::from_millis(args.window_ms))
    };
    let span = Span { warm_up, window };
    let mut report = Report::new(args.short);
    for repetition in 0..repetitions {
        for &attack in attacks {
            // A short pass shows that everything works, and is not judged.
            let pairs = if args.short {
                abba(&programs, attack, repetition, span)?
            } else {
                repeat(&programs, attack, repetition, span)?
            };
            for pair in pairs {
                report.add(pair);
            }
        }
    }
    report.print(args.json)?;
    Ok(report.is_good())
}

/// How often a disturbed repetition is run.
const TRIES: u32 = 3;
/// Of a core, over the time of a repetition.
const STOLEN_MOST: f64 = 0.08;

fn repeat(
    programs: &Programs,
    attack: Attack,
    repetition: u32,
    span: Span,
) -> Result<[Pair; 2], String> {
    for tried in 1.. {
        let (began, before) = (Instant::now(), machine::stolen()?);
        let pairs = abba(programs, attack, repetition, span)?;
        let stolen = machine::stolen()?.saturating_sub(before);
        if stolen < began.elapsed().mul_f64(STOLEN_MOST) {
            return Ok(pairs);
        }
        eprintln!("discarded: {attack:?}, repetition {repetition}: {stolen:?} were stolen");
        if tried == TRIES {
            break;
        }
    }
    Err(format!("{attack:?}: all {TRIES} tries were disturbed; try again on a quieter machine"))
}

/// Attack, baseline, baseline, attack.
fn abba(
    programs: &Programs,
    attack: Attack,
    repetition: u32,
    span: Span,
) -> Result<[Pair; 2], String> {
    let first = once(programs, Deed::Attack(attack), span)?;
    let share = first.attacker_share;
    let burn = || once(programs, Deed::Burn(share), span);
    let (second, third) = (burn()?, burn()?);
    let fourth = once(programs, Deed::Attack(attack), span)?;
    let pair = |attacked, baseline| Pair { attack, repetition, attacked, baseline };
    Ok([pair(first, second), pair(fourth, third)])
}

/// One run on a fresh server.
fn once(programs: &Programs, deed: Deed, span: Span) -> Result<report::Seen, String> {
    let server = Server::start(programs)?;
    let attacker = Attacker::start(server.address, deed)?;
    let (began, cpu) = (Instant::now(), machine::cpu_of(server.pid)?);
    let honest = honest::run(server.address, span)?;
    let server_cpu = machine::cpu_of(server.pid)?.saturating_sub(cpu);
    let attacker_share = attacker.stop()?;
    Ok(report::Seen {
        goodput_rps: honest.goodput_rps,
        p99_us: honest.p99_us,
        whole_p99_us: honest.whole_p99_us,
        offered_rps: honest.offered_rps,
        attacker_share,
        server_share: server_cpu.as_secs_f64() / began.elapsed().as_secs_f64(),
        memory_max: machine::largest_resident(server.pid)?,
    })
}
