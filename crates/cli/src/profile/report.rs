//! `tailwater profile report`: per function, how long its calls took and what held them up.

use super::bounds::bounded;
use super::footer::footer;
use super::reading::{Trace, near};
use super::symbols::Symbols;
use crate::failure::{Failure, say};
use clap::{Args, ValueEnum};
use std::cmp::Reverse;
use std::path::PathBuf;
use tailwater_profile::functions::{Durations, Functions, LockRow, Report};
use tailwater_profile::names::clipped;
use tailwater_report::{count, grid, time};

/// Characters of a name.
const NAME_MAX: usize = 56;
/// Locks listed for a function.
const LOCKS_MAX: usize = 5;
/// Callers listed for a function.
const CALLERS_MAX: usize = 5;

#[derive(Args, Debug)]
pub(crate) struct ReportOptions {
    /// What `tailwater profile record` wrote.
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

/// Fills in variables and lines; tells which files could not serve.
fn name_locks(report: &mut Report, options: &ReportOptions) -> Vec<String> {
    let mut symbols = Symbols::new(&report.names);
    if !(options.locks || options.json) {
        return Vec::new();
    }
    for lock in report.functions.iter_mut().flat_map(|row| row.locks.iter_mut()) {
        lock.lock = symbols.variable(lock.object);
        if options.by_line {
            lock.line = symbols.line(lock.site);
        }
    }
    symbols.changed().to_vec()
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
        out.push_str(&locks_table(report, options));
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
    for row in &report.functions {
        let mut cells = vec![clipped(&row.name, NAME_MAX)];
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

fn numbers(calls: &Durations) -> Vec<String> {
    let mut cells = vec![count(calls.count)];
    let quantiles = [calls.p50, calls.p99, calls.p999, calls.p9999, calls.max];
    cells.extend(
        quantiles.map(|bounds| if calls.count == 0 { "?".into() } else { bounded(bounds) }),
    );
    cells.push(count(calls.partial));
    cells
}

fn locks_table(report: &Report, options: &ReportOptions) -> String {
    let mut rows = Vec::new();
    for row in &report.functions {
        for (at, lock) in row.locks.iter().take(LOCKS_MAX).enumerate() {
            let name = if at == 0 { clipped(&row.name, NAME_MAX) } else { String::new() };
            rows.push(lock_cells(name, lock, options.by_line));
        }
    }
    if rows.is_empty() {
        return "\nNo wait above the recorder's threshold lay within these calls.\n".to_owned();
    }
    let heads = ["function", "waited for", "held in", "at", "waits", "in all", "longest"];
    format!("\n{}\n", grid(&heads, 4, &rows))
}

fn lock_cells(function: String, lock: &LockRow, by_line: bool) -> Vec<String> {
    let what = lock.lock.clone().unwrap_or_else(|| format!("{:#x}", lock.object));
    let site = match &lock.line {
        Some(line) => near(line).to_owned(),
        None if by_line && lock.site != 0 => format!("{:#x}", lock.site),
        None => String::new(),
    };
    vec![
        function,
        format!("{} {}", lock.kind, clipped(&what, NAME_MAX / 2)),
        lock.holder.as_ref().map_or_else(|| "?".to_owned(), |name| clipped(name, NAME_MAX)),
        site,
        count(lock.waits),
        shown(lock.total_ns),
        shown(lock.max_ns),
    ]
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

/// A length of time with its unit.
pub(super) fn shown(ns: u64) -> String {
    time(ns as f64 / 1e3)
}

/// Whether a pattern with `*` and `?` stands for the whole text.
fn matches(glob: &str, text: &str) -> bool {
    let (glob, text): (Vec<char>, Vec<char>) = (glob.chars().collect(), text.chars().collect());
    let (mut g, mut t) = (0, 0);
    // Where the last star stood, and how much of the text it has taken.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match glob.get(g) {
            Some('*') => {
                star = Some((g, t));
                g += 1;
            }
            Some(&c) if c == '?' || c == text[t] => (g, t) = (g + 1, t + 1),
            _ => {
                let Some((at, taken)) = star else { return false };
                star = Some((at, taken + 1));
                (g, t) = (at + 1, taken + 1);
            }
        }
    }
    glob[g..].iter().all(|&c| c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_whole_names() {
        for (glob, text, is) in [
            ("*", "", true),
            ("do_*", "do_item_get", true),
            ("*get", "do_item_get", true),
            ("*item*", "do_item_get", true),
            ("item", "do_item_get", false),
            ("do?item*t", "do_item_get", true),
            ("a*b*c", "aXbXbXc", true),
            ("a*b*c", "aXbXbX", false),
            ("?", "", false),
        ] {
            assert_eq!(matches(glob, text), is, "{glob} {text}");
        }
    }
}
