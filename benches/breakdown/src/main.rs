//! `breakdown`: where the CPU time of seven services goes, by category and by the kernel's account.
//!
//! [`service::ALL`] lists them. [`place`] builds each by the profiler's pass, [`run`] loads and records it, [`found`] is
//! what comes of it. `README.md` says what is measured and judged.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

mod place;
mod service;
mod running;
mod usage;
mod run;
mod found;

use clap::Parser;
use found::Found;
use place::Place;
use service::Service;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// What was answered, or what was found, what was needed and what to do.
type Result<T = ()> = std::result::Result<T, String>;

/// Where the CPU time of the services goes, by category.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// Seconds of each that are recorded.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=60))]
    seconds: u64,
    /// One second of each, which is not judged.
    #[arg(long)]
    short: bool,
    /// Only this service; may be given several times.
    #[arg(long, value_name = "NAME", value_parser = service::of_name)]
    only: Vec<&'static Service>,
    /// Build everything and measure nothing.
    #[arg(long)]
    build_only: bool,
    /// Writes everything as JSON to this file.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    match measured(&args) {
        Ok(good) if good || args.short => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("breakdown: {error}");
            ExitCode::from(2)
        }
    }
}

/// Whether every goal was met.
fn measured(args: &Args) -> Result<bool> {
    let all: Vec<&Service> = service::ALL.iter().collect();
    let chosen = if args.only.is_empty() { &all } else { &args.only };
    let mut place = Place::prepare(chosen)?;
    if args.build_only {
        return Ok(true);
    }
    let length = Duration::from_secs(if args.short { 1 } else { args.seconds });
    let mut found = Found::begin(length);
    for service in chosen {
        let one = run::whole(&mut place, service, length)?;
        println!("{one}");
        found.services.push(one);
    }
    if let Some(path) = &args.out {
        machine::result::write(path, &found)?;
    }
    let good = found.is_good();
    if !args.short {
        println!("{}", if good { "every goal is met" } else { "a goal is missed" });
    }
    Ok(good)
}
