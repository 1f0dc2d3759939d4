//! `tailwater profile export`: a trace in other tools' formats.

mod folded;
mod speedscope;
mod firefox;
mod pprof;
mod chrome;
mod perfetto;
mod lanes;
#[cfg(feature = "parquet")]
mod parquet;

use super::chosen;
use super::companion::Companion;
use super::footer::footer;
use super::output::Output;
use super::percentile::percentile;
use super::reading::{Trace, near};
use crate::failure::{Failure, tell};
use clap::{Args, ValueEnum};
use std::io::{self, Write};
use std::path::PathBuf;
use tailwater_profile::history::History;
use tailwater_profile::kernel::{Lanes, LanesReport};
use tailwater_profile::stacks::{Choice, Report, Stacks};
use tailwater_report::{count, time};

#[derive(Args, Debug)]
pub(crate) struct ExportOptions {
    /// What `tailwater profile record` wrote.
    #[arg(default_value = "tailwater.trace")]
    trace: PathBuf,
    /// For which tool.
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: Format,
    /// Where to; without it, standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Only stacks that go through functions whose name, as shown or as the linker has it, matches: `*` stands for
    /// anything, `?` for a character. May be given more than once. Not for perfetto and parquet.
    #[arg(short, long, value_name = "GLOB")]
    function: Vec<String>,
    /// Only the tail: what lay within calls of the functions that --function names that were longer than this
    /// percentile of the function's calls, such as p99 or p99.9. Not for perfetto and parquet.
    #[arg(long, value_name = "PERCENTILE", requires = "function", value_parser = percentile)]
    above: Option<f64>,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Format {
    /// A line for each stack and its nanoseconds: inferno, flamegraph.pl, speedscope.
    Folded,
    /// Stacks for speedscope, in its own format.
    Speedscope,
    /// Stacks for the Firefox Profiler, a sample for each microsecond.
    Firefox,
    /// Stacks for pprof (`go tool pprof`), with the number of calls; a binary file, not compressed.
    Pprof,
    /// Each call, wait and mark at its time, in the Chrome trace format: Perfetto, chrome://tracing.
    Perfetto,
    /// A table with a row for each call: DuckDB, pandas, Polars, Spark. Only where this program was built with the feature
    /// `parquet`.
    Parquet,
}

/// Writes the file; what is not in it stands on standard error.
pub(super) fn export(options: &ExportOptions) -> Result<(), Failure> {
    let has_stacks = !matches!(options.to, Format::Perfetto | Format::Parquet);
    if !has_stacks && !options.function.is_empty() {
        return Err(Failure::usage(
            "--function and --above choose stacks, and perfetto and parquet have all calls at their times; \
             leave them out, or take --to speedscope",
        ));
    }
    // Both are found out before the trace is read for some seconds.
    let trace = Trace::open(&options.trace)?;
    let mut to = Output::open(options.output.as_deref(), &options.trace)?;
    let missing = match options.to {
        Format::Perfetto => timeline(trace, options, &mut to)?,
        #[cfg(feature = "parquet")]
        Format::Parquet => parquet::export(trace, options, &mut to)?,
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => {
            return Err(Failure::usage(
                "this program was built without Parquet; type: cargo build --release --package tailwater-cli \
                 --features parquet",
            ));
        }
        _ => stacks(trace, options, &mut to)?,
    };
    to.finish().map_err(|error| trouble(options, &error))?;
    tell(&missing);
    Ok(())
}

fn stacks(trace: Trace, options: &ExportOptions, to: &mut impl Write) -> Result<String, Failure> {
    let (choice, among) = choice(options)?;
    let header = trace.header().clone();
    let mut stacks = Stacks::new(&header, choice);
    let ending = trace.read(|item| match item {
        Ok(record) => stacks.add(record),
        Err(error) => stacks.damaged(error),
    });
    let mut report = stacks.finish(&ending);
    // Pictures of time have no place for what took none.
    report.stacks.retain(|stack| stack.ns > 0);
    if report.calls == 0 {
        return Err(Failure::usage(none_chosen(options, among)));
    }
    let done = match options.to {
        Format::Folded => folded::write(&report, to),
        Format::Speedscope => speedscope::write(&report, near(&header.program), to),
        Format::Firefox => firefox::write(&report, &header, to),
        Format::Pprof => pprof::write(&report, &header, to),
        Format::Perfetto | Format::Parquet => unreachable!("they have no stacks"),
    };
    done.map_err(|error| trouble(options, &error))?;
    Ok(told(&report))
}

/// Of the functions that are asked for, in a reading of its own, and how many calls these have.
fn choice(options: &ExportOptions) -> Result<(Choice, u64), Failure> {
    if options.function.is_empty() {
        return Ok((Choice::All, 0));
    }
    let tail = chosen::tail(&options.trace, &options.function, options.above)?;
    let calls = tail.calls();
    Ok((tail.finish(), calls))
}

/// Why no call was chosen of so many.
fn none_chosen(options: &ExportOptions, among: u64) -> String {
    let functions = options.function.join(" or ");
    match options.above {
        Some(quantile) => chosen::none_above(&options.function, quantile, among),
        None if options.function.is_empty() => {
            "the trace has no calls; see docs/profiling-limits.md, \"What is lost\"".to_owned()
        }
        None => format!("the trace has no call of {functions}; record for longer"),
    }
}

fn timeline(trace: Trace, options: &ExportOptions, to: &mut impl Write) -> Result<String, Failure> {
    let header = trace.header().clone();
    let mut history = History::new(&header);
    let ending = trace.read(|item| match item {
        Ok(record) => history.add(record),
        Err(error) => history.damaged(error),
    });
    let report = history.finish(&ending);
    let (mut lanes, mut damaged) = (Lanes::default(), 0);
    if let Some(kernel) = Companion::Kernel.open(&options.trace, &header) {
        kernel.read(|item| match item {
            Ok(record) => lanes.add(record),
            Err(_) => damaged += 1,
        });
    }
    let lanes = lanes.finish();
    perfetto::write(&report, &header, &lanes, to).map_err(|error| trouble(options, &error))?;
    let shorter = match report.left_out {
        0 => String::new(),
        left_out => format!(
            " {} shorter ones, of at most {} each, are left out.",
            count(left_out),
            time(report.left_out_max_ns as f64 / 1e3)
        ),
    };
    let calls = count(report.calls.len() as u64);
    let (waits, marks) = (count(report.waits.len() as u64), count(report.marks.len() as u64));
    let kernel = of_kernel(&lanes, damaged);
    let footer = footer(report.records, report.rate, &report.quality);
    Ok(format!("{calls} calls, {waits} waits, {marks} marks.{shorter}{kernel}\n{footer}"))
}

/// What there is of the kernel's file, and what it lacks.
fn of_kernel(lanes: &LanesReport, damaged: u64) -> String {
    let what = [
        (lanes.spans.len() as u64, "facts of the kernel"),
        (lanes.left_out, "later ones are left out"),
        (
            lanes.lost_events,
            "events of the kernel were lost: where they are missing, time is unknown",
        ),
        (damaged, "parts of the kernel's file are damaged"),
    ];
    let told = what.iter().filter(|(number, _)| *number > 0);
    told.map(|(number, what)| format!(" {} {what}.", count(*number))).collect()
}

fn told(report: &Report) -> String {
    format!(
        "{} of {} calls in {} stacks. Each has the time that its last function took itself, calls too short to be \
         seen included; threads add up.\n{}",
        time(report.total_ns as f64 / 1e3),
        count(report.calls),
        count(report.stacks.len() as u64),
        footer(report.records, report.rate, &report.quality)
    )
}

/// A reader that has gone away (`| head`) ends the program quietly.
fn trouble(options: &ExportOptions, error: &io::Error) -> Failure {
    if error.kind() == io::ErrorKind::BrokenPipe {
        std::process::exit(0);
    }
    let place =
        options.output.as_ref().map_or("standard output".into(), |path| path.display().to_string());
    Failure::work(format!("{place}: {error}"))
}
