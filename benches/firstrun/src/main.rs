//! `firstrun`: how long `tailwater suite run` takes for each service where nothing is prepared, and what of it is data.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

use clap::Parser;
use machine::{Origin, command};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

const SERVICES: [&str; 4] = ["hdsearch", "router", "setalgebra", "recommend"];

/// From the command to its tables, in seconds.
const MOST_S: f64 = 60.0;

/// Of a short pass, with the only service that it has.
const SHORT: (&str, [&str; 6]) =
    ("setalgebra", ["--set", "text=generated", "--set", "documents=2000", "--set", "queries=300"]);

/// How long the first run of each of the suite's services takes, with nothing prepared.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Shows only that everything works: Set Algebra alone, on 2,000 documents.
    #[arg(long)]
    short: bool,
    /// Writes the result here, too.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Serialize)]
struct Found {
    #[serde(flatten)]
    origin: Origin,
    services: Vec<First>,
}

/// The first run of a service.
#[derive(Serialize)]
struct First {
    service: &'static str,
    /// The whole command.
    first_s: f64,
    /// Preparing the same data alone, in another folder.
    data_s: f64,
    runs: usize,
    valid: usize,
    /// Runs that noise spoilt and that were made again, beside these.
    repeated: usize,
}

/// What is read of a result.
#[derive(Deserialize)]
struct Experiment {
    runs: Vec<Run>,
    discarded: Vec<IgnoredAny>,
}

#[derive(Deserialize)]
struct Run {
    valid: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match measure(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("firstrun: {why}");
            ExitCode::FAILURE
        }
    }
}

fn measure(Arguments { short, out }: &Arguments) -> Result<(), String> {
    if let Some(path) = out {
        machine::result::refuse_unwritable(path)?;
    }
    let origin = Origin::now();
    let program = machine::tailwater()?;
    println!("service      first run, s   of it data, s   runs that count   repeated");
    let measured = |service: &'static str| {
        let flags: &[&str] = if *short { &SHORT.1 } else { &[] };
        let first = first(&program, service, flags, *short)?;
        let First { first_s, data_s, runs, valid, repeated, .. } = first;
        let kept = if first_s <= MOST_S { "kept" } else { "not kept" };
        println!(
            "{service:<12} {first_s:>12.1} {data_s:>15.1} {valid:>11} of {runs} {repeated:>10} (at most {MOST_S} s: {kept})"
        );
        Ok::<_, String>(first)
    };
    let services: &[&'static str] = if *short { &[SHORT.0] } else { &SERVICES };
    let services = services.iter().copied().map(measured).collect::<Result<_, _>>()?;
    let found = Found { origin, services };
    out.as_ref().map_or(Ok(()), |path| machine::result::write(path, &found))
}

fn first(
    program: &Path,
    service: &'static str,
    flags: &[&str],
    short: bool,
) -> Result<First, String> {
    let timed = |verb: &[&str], more: &[&str]| {
        let folder = Empty::new(service);
        let mut run = Command::new(program);
        run.args(verb).arg(service).args(flags).args(more).arg("--data").arg(&folder.0);
        let begun = Instant::now();
        // A run without a result that counts, or with a wrong answer, ends badly.
        command::output(&mut run).map(|said| (said, begun.elapsed().as_secs_f64()))
    };
    let short: &[&str] = if short { &["--short"] } else { &[] };
    let (said, first_s) = timed(&["suite", "run"], &[&["--json"][..], short].concat())?;
    let (_, data_s) = timed(&["data", "make"], &[])?;
    let Experiment { runs, discarded } =
        serde_json::from_str(&said).map_err(|why| format!("{service}: its result: {why}"))?;
    let valid = runs.iter().filter(|run| run.valid).count();
    let (runs, repeated) = (runs.len(), discarded.len());
    Ok(First { service, first_s, data_s, runs, valid, repeated })
}

/// A folder that is not there yet, and is gone afterwards.
struct Empty(PathBuf);

impl Empty {
    fn new(name: &str) -> Self {
        let name = format!("tailwater-firstrun-{name}-{}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Empty {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
