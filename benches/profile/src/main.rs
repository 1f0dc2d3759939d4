//! `profile`: what the profiler costs a program and what it finds, beside the tools that do the like,
//! on the same work in one interleaved run.
//!
//! Each part ([`calls`], [`programs`], [`granularity`], [`truth`], [`memcached`]) yields one
//! [`table::Section`]. [`tool`] lists the tools, [`place`] knows where everything lies and builds it.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

mod calls;
mod caused;
mod compared;
mod granularity;
mod guide;
mod make;
mod memcached;
mod needed;
mod place;
mod programs;
mod quantile;
mod table;
mod tool;
mod trial;
mod truth;
mod turns;

use clap::{Parser, Subcommand, ValueEnum};
use place::Place;
use std::path::PathBuf;
use std::process::ExitCode;
use table::Section;

/// What was answered, or what was found, what was needed and what to do.
type Result<T = ()> = std::result::Result<T, String>;

/// What the profiler costs and finds, beside XRay, uftrace, gcc -pg, rdtsc hooks and perf.
#[derive(Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// One repetition of next to nothing, without the tools of others and without memcached: shows
    /// only that everything works.
    #[arg(long)]
    short: bool,
    /// Keeps each part in this file, beside what it has of parts that were not run.
    #[arg(long, value_name = "FILE", conflicts_with = "short")]
    out: Option<PathBuf>,
    /// Build everything and measure nothing.
    #[arg(long)]
    build_only: bool,
    /// Measure only this; may be given several times.
    #[arg(long, value_enum)]
    only: Vec<Part>,
    /// Runs of each contender; 0: what suits the part.
    #[arg(long, default_value_t = 0)]
    repetitions: usize,
}

impl Args {
    fn chooses(&self, part: Part) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }
}

#[derive(Subcommand)]
enum Verb {
    /// Load a memcached with SET requests, as the last part does, or with GETs, and check every answer.
    Load(memcached::LoadArgs),
    /// From symptom to cause on a program that is not ours, and its p99 before and after; examples/profiling/guide.sh.
    Guide(guide::GuideArgs),
    /// What clients of a server see while it is recorded, in a closed loop, or in an open one by --load; examples/profiling/open.sh.
    Recorded(guide::RecordedArgs),
    /// What each option of a recording costs what clients of a server see; examples/profiling/options.sh.
    Options(guide::OptionsArgs),
    /// What a server gets through before, while and after it is attached to; examples/profiling/attach.sh.
    Attached(guide::AttachedArgs),
    /// Whether a server and the recorder that is attached to it outlive each other; examples/profiling/attach.sh.
    Killed(guide::KilledArgs),
    /// Whether a server, and what can be read of its trace, outlive a disk that the recording fills; examples/profiling/attach.sh, as root.
    Full(guide::FullArgs),
    /// What a report says of a server's request function beside what the server's own clock says; examples/profiling/clocked.sh.
    Clocked(guide::RunsArgs),
    /// Whether a planted slow path is the first line of a report; examples/profiling/planted.sh.
    Planted(guide::RunsArgs),
    /// What a long recording takes of which the slowest requests are kept, and whether one is missing; examples/profiling/kept.sh.
    Kept(guide::KeptArgs),
    /// What `tailwater profile diff` names between two builds, and between recordings of one; examples/profiling/diff.sh.
    Compared(compared::ComparedArgs),
    /// How many slow requests with a planted cause are blamed on it, and how many without one on anything;
    /// examples/profiling/causes.sh.
    Caused(caused::CausedArgs),
    /// What `tailwater profile report` says of a recording that is there, for docs/figures-ldb.md; examples/profiling/tails.sh.
    Tails(guide::TailsArgs),
    /// Print the folder of SQLite's sources.
    Sqlite,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    /// Extra time per call of an empty function.
    Calls,
    /// The same of one that times itself, and counts.
    TimedCalls,
    /// CPU time of whole programs.
    Programs,
    /// The same of scanned ones, beside what makes a program dearer without a scanner.
    Scanned,
    /// What the scanner finds of calls of a known length, and what that costs.
    Granularity,
    /// The same of calls that are timed inside the program, and how far off their times are.
    Truth,
    /// memcached's CPU time per request.
    Memcached,
    /// How fast traces of memcached grow, and how fast they are read.
    Traces,
}

const PARTS: [Part; 8] = [
    Part::Calls,
    Part::TimedCalls,
    Part::Programs,
    Part::Scanned,
    Part::Granularity,
    Part::Truth,
    Part::Memcached,
    Part::Traces,
];

/// How much is to be done.
#[derive(Clone, Copy, Debug)]
struct Effort {
    short: bool,
    build_only: bool,
    /// 0: what suits the part.
    repetitions: usize,
}

impl Effort {
    /// Of each contender, where `usual` suits the part.
    fn repetitions(self, usual: usize) -> usize {
        match (self.short, self.repetitions) {
            (true, _) => 1,
            (false, 0) => usual,
            (false, said) => said,
        }
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    let done = match &args.verb {
        Some(Verb::Load(load)) => memcached::load(load),
        Some(Verb::Guide(args)) => guide::guide(args),
        Some(Verb::Recorded(args)) => guide::recorded(args),
        Some(Verb::Options(args)) => guide::options(args),
        Some(Verb::Attached(args)) => guide::attached(args),
        Some(Verb::Killed(args)) => guide::killed(args),
        Some(Verb::Full(args)) => guide::full(args),
        Some(Verb::Clocked(args)) => guide::clocked(args),
        Some(Verb::Planted(args)) => guide::planted(args),
        Some(Verb::Kept(args)) => guide::kept(args),
        Some(Verb::Compared(args)) => compared::compared(args),
        Some(Verb::Caused(args)) => caused::caused(args),
        Some(Verb::Tails(args)) => guide::tails(args),
        Some(Verb::Sqlite) => place::sqlite().map(|folder| println!("{}", folder.display())),
        None => measure(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("profile: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(args: &Args) -> Result {
    needed::look(args)?;
    let place = Place::prepare()?;
    let effort =
        Effort { short: args.short, build_only: args.build_only, repetitions: args.repetitions };
    for part in PARTS.iter().filter(|part| args.chooses(**part)) {
        let section = run(*part, &place, effort)?;
        if args.build_only {
            continue;
        }
        println!("{}", section.text());
        // Each part for itself: a later one may fail.
        args.out.as_ref().map_or(Ok(()), |path| table::keep(path, &section))?;
    }
    Ok(())
}

fn run(part: Part, place: &Place, effort: Effort) -> Result<Section> {
    match part {
        Part::Calls => calls::measure(place, effort),
        Part::TimedCalls => calls::measure_timed(place, effort),
        Part::Programs => programs::measure(place, effort),
        Part::Scanned => programs::measure_scanned(place, effort),
        Part::Granularity => granularity::measure(place, effort),
        Part::Truth => truth::measure(place, effort),
        Part::Memcached => memcached::measure(place, effort),
        Part::Traces => memcached::traces(place, effort),
    }
}
