//! How long calls took, function by function.

use super::{ReportOptions, counters};
use crate::profile::bounds::{bounded, shown};
use crate::profile::lines::{samples, told};
use crate::profile::reading::near;
use tailwater_profile::functions::{Bounds, Durations, FunctionRow, Report};
use tailwater_report::{count, grid};

/// Places listed from which a function was called.
pub(super) const CALLERS_MAX: usize = 5;
/// Lines of a table above its first row: its heads, and the rule.
const HEAD: usize = 2;
/// Places listed at which it called.
pub(super) const CALLEES_MAX: usize = 8;

pub(super) fn calls_table(report: &Report, options: &ReportOptions) -> String {
    let mut heads = vec!["function"];
    if options.by_line {
        heads.push("defined at");
    }
    let left = heads.len();
    heads.extend(if options.sort.is_of_sums() {
        vec!["calls", "mean", "in all", "self", "max", "open"]
    } else {
        vec!["calls", "p50", "p99", "p99.9", "p99.99", "max", "open"]
    });
    let (mut rows, mut below) = (Vec::new(), Vec::new());
    for row in &report.functions {
        let mut cells = vec![row.name.clone()];
        if options.by_line {
            cells.push(format!("{}:{}", row.file, row.line));
        }
        cells.extend(numbers(&row.calls, Some(row.itself), options));
        rows.push(cells);
        for (name, calls) in places(row, options) {
            let mut cells = vec![name];
            cells.resize(left, String::new());
            cells.extend(numbers(calls, None, options));
            rows.push(cells);
        }
        below.push((rows.len(), lines(row).chain(counters::lines(row))));
    }
    interleaved(&grid(&heads, left, &rows), below)
}

/// A table with lines below some rows: of so many rows above each. They are no cells, which would make a column as wide.
fn interleaved(
    table: &str,
    below: impl IntoIterator<Item = (usize, impl Iterator<Item = String>)>,
) -> String {
    let mut of_table = table.lines();
    let (mut text, mut above) = (String::new(), 0);
    let mut take = |text: &mut String, count: usize| {
        of_table.by_ref().take(count).for_each(|line| *text += &format!("{line}\n"));
    };
    take(&mut text, HEAD);
    for (rows, lines) in below {
        take(&mut text, rows - above);
        lines.for_each(|line| text += &format!("{line}\n"));
        above = rows;
    }
    take(&mut text, usize::MAX);
    text.truncate(text.trim_end_matches('\n').len());
    text
}

/// From where a function was called, and what it called, as asked.
fn places<'a>(
    row: &'a FunctionRow,
    options: &ReportOptions,
) -> impl Iterator<Item = (String, &'a Durations)> {
    let callers = row.callers.iter().take(if options.callers { CALLERS_MAX } else { 0 });
    let callers = callers.map(|one| {
        let name = one.caller.as_deref().unwrap_or("(bottom of the stack)");
        (format!("  ← {name}{}", at(one.line.as_deref())), &one.calls)
    });
    let callees = row.callees.iter().take(if options.callees { CALLEES_MAX } else { 0 });
    let callees =
        callees.map(|one| (format!("  → {}{}", one.callee, at(one.line.as_deref())), &one.calls));
    callers.chain(callees)
}

/// At which lines its threads were in its slow calls.
fn lines(row: &FunctionRow) -> impl Iterator<Item = String> + '_ {
    let heads = row.lines.iter().map(|lines| {
        if lines.above_ns == 0 {
            return "  which of its calls are slow is not known".to_owned();
        }
        let calls = if lines.calls == 1 { "call" } else { "calls" };
        let calls = format!("{} {calls}", count(lines.calls));
        format!(
            "  in {calls} of {} or more itself: {}",
            shown(lines.above_ns),
            samples(&lines.sampled)
        )
    });
    let lines = row.lines.iter().flat_map(|lines| told(&lines.sampled));
    heads.chain(lines.map(|line| format!("  {line}")))
}

/// A place by its line; nothing where that is not known.
fn at(line: Option<&str>) -> String {
    line.map(|line| format!(" at {}", near(line))).unwrap_or_default()
}

fn numbers(calls: &Durations, itself: Option<Bounds>, options: &ReportOptions) -> Vec<String> {
    let mut cells = vec![count(calls.count)];
    let known = |bounds| if calls.count == 0 { "?".to_owned() } else { bounded(bounds) };
    if options.sort.is_of_sums() {
        cells.extend([calls.mean, calls.total].map(known));
        cells.push(itself.map(bounded).unwrap_or_default());
        cells.push(known(calls.max));
    } else {
        cells.extend([calls.p50, calls.p99, calls.p999, calls.p9999, calls.max].map(known));
    }
    cells.push(count(calls.partial));
    cells
}

#[test]
fn lines_stand_below_their_rows_and_make_no_column_wider() {
    let row = |name: &str| vec![name.to_owned(), "7".to_owned()];
    let table = grid(&["f", "n"], 1, &[row("a"), row("→ b"), row("c")]);
    let long = "x".repeat(99);
    let text =
        interleaved(&table, [(2, [long.clone()].into_iter()), (3, [String::new()].into_iter())]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[4], long, "{text}");
    assert!(lines[2].starts_with('a') && lines[5].starts_with('c'), "{text}");
    assert_eq!(lines[0].len(), table.lines().next().expect("heads").len());
}
