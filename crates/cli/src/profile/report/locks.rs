//! What was waited for, and who held it.

use super::ReportOptions;
use crate::profile::bounds::shown;
use crate::profile::reading::near;
use crate::terminal::{style, wrapped};
use std::collections::BTreeMap;
use tailwater_profile::functions::{ContendedRow, HoldRow, LockRow, Report};
use tailwater_report::{count, grid_within};

/// Locks listed for a function.
const LOCKS_MAX: usize = 5;
/// Columns of their table.
const LOCKS_COLUMNS: usize = 7;
/// Locks listed of the program, waited for or held.
pub(super) const LISTED_MAX: usize = 10;

/// The locks of the program, and below them those that each function waited for.
pub(super) fn locks_tables(report: &Report, options: &ReportOptions) -> String {
    let none = match report.locks.is_empty() {
        true => format!("\n{}\n", wrapped(NO_LOCK)),
        false => String::new(),
    };
    let [all, own] = [contended_table(report, options), locks_table(report, options)];
    format!("{none}{all}{own}{}{}", holds_table(report, options), left_out(report.locks_left_out))
}

/// What is beyond the bounds, in a sentence.
fn left_out(waits: u64) -> String {
    if waits == 0 {
        return String::new();
    }
    let waits = count(waits);
    let text = format!(
        "{waits} waits and holds are beyond what is kept: so many may be missing above. Of each thread the last 1,024 waits are \
         looked for in calls around them."
    );
    format!("\n{}\n", wrapped(&text))
}

/// Said where a table without rows could be taken for a program that does not wait.
const NO_LOCK: &str = "No wait for a lock of pthreads is in the trace. Only those are known (and only waits beyond the \
    recorder's threshold): a wait for a lock of another kind, as Rust's own and those of parking_lot and tokio are, is time \
    of the function that waits. With `record --kernel`, `report --slowest` and `requests` say which thread ended such a wait, \
    and in which function.";

fn contended_table(report: &Report, options: &ReportOptions) -> String {
    if report.locks.is_empty() {
        return String::new();
    }
    let row = |lock: &ContendedRow| {
        vec![
            what(lock.kind, lock.lock.as_deref(), lock.object),
            function(lock.function.as_deref(), None),
            function(lock.holder.as_deref(), lock.holder_line.as_deref()),
            place(lock.line.as_deref(), lock.site, options.by_line),
            count(lock.waits),
            shown(lock.total_ns),
            shown(lock.max_ns),
        ]
    };
    let heads = ["lock", "longest in", "held in", "at", "waits", "in all", "longest"];
    first(&report.locks, (&heads, 4), "locks", row)
}

/// The first rows of a table, with how many more there are.
fn first<T>(
    all: &[T],
    (heads, left): (&[&str], usize),
    what: &str,
    row: impl Fn(&T) -> Vec<String>,
) -> String {
    let rows: Vec<Vec<String>> = all.iter().take(LISTED_MAX).map(row).collect();
    let more = match all.len() - rows.len() {
        0 => String::new(),
        more => format!("and {} more {what}; --json lists them\n", count(more as u64)),
    };
    format!("\n{}\n{more}", grid_within(heads, left, &rows, style().width))
}

/// Locks that were held for long; nothing where that was not recorded.
fn holds_table(report: &Report, options: &ReportOptions) -> String {
    if report.holds.is_empty() {
        return String::new();
    }
    let row = |hold: &HoldRow| {
        vec![
            what(hold.kind, hold.lock.as_deref(), hold.object),
            function(hold.function.as_deref(), None),
            place(hold.line.as_deref(), hold.site, options.by_line),
            count(hold.holds),
            shown(hold.total_ns),
            shown(hold.max_ns),
        ]
    };
    let heads = ["lock", "held by", "at", "times", "in all", "longest"];
    first(&report.holds, (&heads, 3), "holders of locks", row)
}

fn locks_table(report: &Report, options: &ReportOptions) -> String {
    let mut rows = Vec::new();
    let innermost = innermost(report);
    for row in &report.functions {
        // Where a function that took less time in all has these very waits, it is most likely one that this one called.
        let took_ns = row.calls.total.low_ns;
        let least_ns = |lock: &LockRow| innermost.get(&waits(lock)).copied().unwrap_or(took_ns);
        let own = row.locks.iter().filter(|lock| least_ns(lock) >= took_ns);
        let own: Vec<&LockRow> = own.collect();
        for (at, lock) in own.iter().take(LOCKS_MAX).enumerate() {
            let name = if at == 0 { row.name.clone() } else { String::new() };
            rows.push(lock_cells(name, lock, options.by_line));
        }
        if own.len() > LOCKS_MAX {
            let more = count((own.len() - LOCKS_MAX) as u64);
            let mut cells = vec![String::new(), format!("and {more} more; --json lists them")];
            cells.resize(LOCKS_COLUMNS, String::new());
            rows.push(cells);
        }
    }
    if rows.is_empty() && report.locks.is_empty() {
        // That no lock is known is said above.
        return String::new();
    }
    if rows.is_empty() {
        return "\nNo wait above the recorder's threshold lay within these calls.\n".to_owned();
    }
    let heads: [&str; LOCKS_COLUMNS] =
        ["function", "waited for", "held in", "at", "waits", "in all", "longest"];
    format!("\n{}\n", grid_within(&heads, 4, &rows, style().width))
}

/// All that a reader sees of some waits: kind and object, holder, numbers, lines.
type Waits<'a> = ((&'a str, u64), Option<&'a str>, [u64; 4], [Option<&'a str>; 2]);

fn waits(lock: &LockRow) -> Waits<'_> {
    let numbers = [lock.waits, lock.total_ns, lock.max_ns, lock.site];
    let lines = [lock.line.as_deref(), lock.holder_line.as_deref()];
    ((lock.kind, lock.object), lock.holder.as_deref(), numbers, lines)
}

/// By waits, the least time in all of a function that has the very same ones, in nanoseconds. Found once: each of up to 65,536 rows
/// was held against all others.
fn innermost(report: &Report) -> BTreeMap<Waits<'_>, u64> {
    let mut innermost = BTreeMap::new();
    for row in &report.functions {
        let took_ns = row.calls.total.low_ns;
        for lock in &row.locks {
            let least = innermost.entry(waits(lock)).or_insert(took_ns);
            *least = took_ns.min(*least);
        }
    }
    innermost
}

fn lock_cells(first: String, lock: &LockRow, by_line: bool) -> Vec<String> {
    vec![
        first,
        what(lock.kind, lock.lock.as_deref(), lock.object),
        function(lock.holder.as_deref(), lock.holder_line.as_deref()),
        place(lock.line.as_deref(), lock.site, by_line),
        count(lock.waits),
        shown(lock.total_ns),
        shown(lock.max_ns),
    ]
}

/// A function, and where in it.
fn function(name: Option<&str>, line: Option<&str>) -> String {
    let name = name.unwrap_or("?");
    match line {
        Some(line) => format!("{name} at {}", near(line)),
        None => name.to_owned(),
    }
}

/// A lock by its variable, or by its address.
fn what(kind: &str, lock: Option<&str>, object: u64) -> String {
    match lock {
        Some(lock) => format!("{kind} {}", lock),
        None => format!("{kind} {object:#x}"),
    }
}

fn place(line: Option<&str>, site: u64, by_line: bool) -> String {
    match line {
        Some(line) => near(line).to_owned(),
        None if by_line && site != 0 => format!("{site:#x}"),
        None => String::new(),
    }
}
