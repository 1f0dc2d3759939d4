//! `tailwater profile report`: per function, how long its calls took and what held them up.

mod glob;
mod locks;

use super::bounds::{bounded, shown};
use super::footer::footer;
use super::reading::{Trace, near};
use crate::failure::{Failure, say};
use clap::{Args, ValueEnum};
use glob::matches;
use locks::{locks_tables, name_locks};
use std::cmp::Reverse;
use std::path::PathBuf;
use tailwater_profile::functions::{Durations, FunctionRow, Functions, Report};
use tailwater_profile::names::{clipped, clipped_apart};
use tailwater_report::{count, grid};

/// Characters of a name.
const NAME_MAX: usize = 56;
/// Callers listed for a function.
const CALLERS_MAX: usize = 5;

#[derive(Args, Debug)]
pub(crate) struct ReportOptions {
    /// What `tailwater profile record` wrote.
    #[arg(default_value = "tailwater.trace")]
    trace: PathBuf,
    /// What of a function's calls to sort by: its lower bound, where it is known by bounds.
    #[arg(long, value_enum, default_value_t = Sort::P9999)]
    sort: Sort,
    /// Only functions whose name, as shown or as the linker has it, matches: `*` stands for anything,
    /// `?` for a character.
    #[arg(long, value_name = "GLOB")]
    function: Option<String>,
    /// Only functions with at least so many calls; 0: also those of whose calls no duration is known.
    #[arg(long, value_name = "N", default_value_t = 1)]
    min_count: u64,
    /// At most so many functions; 0: all.
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Below each function, who called it (at most five callers).
    #[arg(long)]
    callers: bool,
    /// The locks that calls waited for, and in which function their holders had taken them.
    #[arg(long)]
    locks: bool,
    /// Where functions are defined and, with --locks, where locks are taken; the latter is read from
    /// the program's file, which must still be there.
    #[arg(long)]
    by_line: bool,
    /// Print the result as one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Sort {
    /// The 99th percentile.
    P99,
    /// The 99.9th.
    P999,
    /// The 99.99th.
    P9999,
    /// The longest call.
    Max,
    /// The number of calls.
    Count,
    /// The sum of all calls.
    Total,
}

pub(super) fn report(options: &ReportOptions) -> Result<(), Failure> {
    let trace = Trace::open(&options.trace)?;
    let program = trace.header().program.clone();
    let mut functions = Functions::new(trace.header());
    let ending = trace.read(|item| match item {
        Ok(record) => functions.add(record),
        Err(error) => functions.damaged(error),
    });
    let mut report = functions.finish(&ending);
    let seen = report.functions.len();
    select(&mut report, options);
    let changed = name_locks(&mut report, options);
    if options.json {
        return say(&serde_json::to_string_pretty(&report).map_err(Failure::work)?);
    }
    say(&text(&report, &program, seen, options))?;
    for path in changed {
        let path = near(&path);
        say(&format!("{path} is not the file that was recorded: no lines from it."))?;
    }
    Ok(())
}

/// Filters, sorts and cuts as asked.
fn select(report: &mut Report, options: &ReportOptions) {
    let rows = &mut report.functions;
    rows.retain(|row| {
        let named = options
            .function
            .as_ref()
            .is_none_or(|glob| matches(glob, &row.name) || matches(glob, &row.symbol));
        named && row.calls.count >= options.min_count
    });
    rows.sort_by_key(|row| {
        // What lasts for most of the recording, as `main` and the loops of threads, is around all else.
        let is_around = row.calls.p50.low_ns > report.length_ns / 2;
        (is_around, Reverse(options.sort.key(&row.calls)))
    });
    if options.limit > 0 {
        rows.truncate(options.limit);
    }
}

impl Sort {
    /// What is surely long is more than what may be; of equals, what is known best.
    fn key(self, calls: &Durations) -> (u64, Reverse<u64>) {
        let bounds = match self {
            Self::P99 => calls.p99,
            Self::P999 => calls.p999,
            Self::P9999 => calls.p9999,
            Self::Max => calls.max,
            Self::Count => return (calls.count, Reverse(0)),
            Self::Total => calls.total,
        };
        (bounds.low_ns, Reverse(bounds.high_ns.unwrap_or(u64::MAX)))
    }
}

/// `seen`: functions before any were left out.
fn text(report: &Report, program: &str, seen: usize, options: &ReportOptions) -> String {
    let mut out = format!("{}: functions by {}\n\n", near(program), options.sort.name());
    if report.functions.is_empty() && seen > 0 {
        let seen = count(seen as u64);
        out.push_str(&format!(
            "None of {seen} functions matches. --min-count 0 also lists those of whose calls no duration \
             is known.\n"
        ));
    } else if report.functions.is_empty() {
        out.push_str("No call was seen. Did the program run for some milliseconds, unfiltered?\n");
    } else {
        out.push_str(&calls_table(report, options));
        out.push('\n');
    }
    if options.locks {
        out.push_str(&locks_tables(report, options));
    }
    let footer = footer(report.records, report.rate, &report.quality);
    out.push_str(&format!("\n{}\n{footer}", meaning(report)));
    out
}

/// What the numbers mean, and what is not in them.
fn meaning(report: &Report) -> String {
    let left_out = match report.left_out {
        0 => "No call is left out.".to_owned(),
        left_out => format!(
            "Calls left out, of whose duration nothing is known: {}, the longest at most {} of the recording.",
            count(left_out),
            shown(report.left_out_max_ns)
        ),
    };
    format!(
        "A number alone is known to 5 %; a–b, ≤ and ≥ are bounds, by when the scanner looked. Open calls began \
         before the recording or had not ended with it.\n{left_out}"
    )
}

fn calls_table(report: &Report, options: &ReportOptions) -> String {
    let mut heads = vec!["function"];
    if options.by_line {
        heads.push("defined at");
    }
    let left = heads.len();
    heads.extend(["calls", "p50", "p99", "p99.9", "p99.99", "max", "open"]);
    let mut rows = Vec::new();
    for (name, row) in shown_names(&report.functions).into_iter().zip(&report.functions) {
        let mut cells = vec![name];
        if options.by_line {
            cells.push(format!("{}:{}", row.file, row.line));
        }
        cells.extend(numbers(&row.calls));
        rows.push(cells);
        for caller in row.callers.iter().take(if options.callers { CALLERS_MAX } else { 0 }) {
            let name = caller.caller.as_deref().unwrap_or("(bottom of the stack)");
            let mut cells = vec![format!("  ← {}", clipped(name, NAME_MAX - 4))];
            cells.resize(left, String::new());
            cells.extend(numbers(&caller.calls));
            rows.push(cells);
        }
    }
    grid(&heads, left, &rows)
}

/// What functions are called in a table: no two look alike that are not.
fn shown_names(rows: &[FunctionRow]) -> Vec<String> {
    let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    clipped_apart(&names, NAME_MAX)
}

fn numbers(calls: &Durations) -> Vec<String> {
    let mut cells = vec![count(calls.count)];
    let quantiles = [calls.p50, calls.p99, calls.p999, calls.p9999, calls.max];
    cells.extend(
        quantiles.map(|bounds| if calls.count == 0 { "?".into() } else { bounded(bounds) }),
    );
    cells.push(count(calls.partial));
    cells
}

impl Sort {
    const fn name(self) -> &'static str {
        match self {
            Self::P99 => "p99",
            Self::P999 => "p99.9",
            Self::P9999 => "p99.99",
            Self::Max => "their longest call",
            Self::Count => "number of calls",
            Self::Total => "time in all",
        }
    }
}
