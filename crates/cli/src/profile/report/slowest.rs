//! `report --slowest`: single calls, and where the time of each went.

use super::counters::amount;
use super::{ReportOptions, UNNAMED};
use crate::failure::{Failure, say};
use crate::profile::blame::{blame, functions, name_calls, name_wait};
use crate::profile::bounds::{bounded, shown};
use crate::profile::footer::footer;
use crate::profile::glob::is_named;
use crate::profile::kernel;
use crate::profile::lines::{self, InRows};
use crate::profile::output::write_whole;
use crate::profile::page::{Subject, Told};
use crate::profile::reading::{Trace, near};
use crate::profile::symbols::Symbols;
use tailwater_profile::kernel::Coverage;
use tailwater_profile::names::{demangled, shorten};
use tailwater_profile::record::Function;
use tailwater_profile::slowest::{CallRow, Node, Report, Slowest};
use tailwater_report::{count, grid, timelines};

/// Characters of a name.
const NAME_MAX: usize = 56;
/// Waits told of a call.
const WAITS_MAX: usize = 3;
/// Callees told of a call on one path, and calls within one another.
const CALLEES_MAX: usize = 5;
const DEPTH_MAX: usize = 12;
/// Callees are told of that may have taken this share of the whole call.
const SHARE_MIN: f64 = 0.01;

/// Reads the trace twice, and tells of the `slowest` so many calls of the functions that were asked for.
pub(super) fn slowest(options: &ReportOptions, slowest: usize) -> Result<(), Failure> {
    let trace = Trace::open(&options.trace)?;
    let header = trace.header().clone();
    let globs = options.function.clone();
    let includes =
        move |function: &Function| is_named(&globs, &demangled(&function.name), &function.name);
    let mut first = Slowest::new(trace.header(), slowest, includes);
    let ending = trace.read(|item| match item {
        Ok(record) => first.add(record),
        Err(error) => first.damaged(error),
    });
    let mut second = first.finish(&ending);
    Trace::open(&options.trace)?.read(|item| {
        // Damage was counted in the first reading.
        if let Ok(record) = item {
            second.add(record);
        }
    });
    let mut report = second.finish();
    let sampled =
        InRows::find(&options.trace, &header, report.slowest.iter().map(|row| &row.stretches));
    let rows = report.slowest.iter_mut().flat_map(|row| {
        let own = (&mut row.stretches, &mut row.kernel);
        kernel::holders(&mut row.waits).chain([own])
    });
    report.kernel = kernel::account(&options.trace, &header, report.rate, rows, |_| {});
    report.samples = sampled.coverage();
    let changed = name_places(&mut report, &sampled);
    // It has whole names.
    let json = options.json.then(|| serde_json::to_string_pretty(&report));
    let json = json.transpose().map_err(Failure::work)?;
    shorten_names(&mut report.slowest);
    let told = timelines_of(&report, &header.program, options)?;
    if let Some(json) = json {
        return say(&json);
    }
    let text = text(&report, &header.program, &options.function, &told);
    say(&format!("{text}{}", lines::lacking(report.samples)))?;
    for path in changed {
        let path = near(&path);
        say(&format!("{path} is not the file that was recorded: no lines from it."))?;
    }
    Ok(())
}

/// Writes the page, if that is asked for, and gives the time lines of the calls where the terminal shall have them.
fn timelines_of(
    report: &Report,
    program: &str,
    options: &ReportOptions,
) -> Result<Vec<String>, Failure> {
    if options.page.is_none() && !options.timeline {
        return Ok(vec![]);
    }
    let subjects = report.slowest.iter().enumerate().map(Subject::call).collect();
    let told = Told::read(&options.trace, subjects, &report.names)?;
    if let Some(path) = &options.page {
        let title =
            format!("Slowest calls of {} in {}", options.function.join(" or "), near(program));
        let text = text(report, program, &options.function, &[]);
        write_whole(path, &options.trace, &timelines(&title, &text, &told.on_page()))?;
    }
    Ok(if options.timeline { told.in_terminal() } else { vec![] })
}

fn name_places(report: &mut Report, sampled: &InRows) -> Vec<String> {
    let mut symbols = Symbols::new(&report.names);
    sampled.name(report.slowest.iter_mut().map(|row| &mut row.lines), &mut symbols);
    for row in &mut report.slowest {
        row.waits.iter_mut().for_each(|wait| name_wait(wait, &mut symbols));
        name_calls(&mut row.running, &mut symbols);
        name_node(&mut row.tree, &mut symbols);
    }
    symbols.changed().to_vec()
}

fn name_node(node: &mut Node, symbols: &mut Symbols<'_>) {
    node.line = node.at.and_then(|at| symbols.line_in(at));
    node.callees.iter_mut().for_each(|one| name_node(one, symbols));
}

/// Functions have one short name in all that is told of the calls.
fn shorten_names(rows: &mut [CallRow]) {
    let mut names = vec![];
    for CallRow { waits, kernel, tree, .. } in rows {
        let least = least(tree);
        name_branch(tree, 0, least, &mut names);
        names.extend(waits.iter_mut().flat_map(functions));
        names.extend(kernel::functions(kernel));
    }
    shorten(names, NAME_MAX);
}

fn name_branch<'a>(node: &'a mut Node, depth: usize, least: u64, names: &mut Vec<&'a mut String>) {
    names.push(&mut node.function);
    let told = node.callees.iter_mut().filter(|one| is_worth(one, least)).take(told_at(depth));
    told.for_each(|one| name_branch(one, depth + 1, least, names));
}

/// With a time line below each call, if there are any.
fn text(report: &Report, program: &str, globs: &[String], lines: &[String]) -> String {
    let program = near(program);
    let asked = globs.join(" or ");
    let footer = footer(report.records, report.rate, &report.quality);
    let footer = format!("{footer}{}", kernel::lacking(report.kernel.as_ref()));
    if report.slowest.is_empty() {
        let why = match (report.functions, report.left_out) {
            (0, _) if report.quality.unscanned => format!(
                "no call of {asked} timed itself, and no scanner looked (--scanners 0). Build with --clock, or record with a \
                 scanner."
            ),
            (0, _) => format!("no function of the trace is called {asked}. {UNNAMED}"),
            (_, 0) => format!("no call of {asked} was seen."),
            (_, left_out) => format!(
                "of {asked} {} calls were seen, and of none is known how long it took.",
                count(left_out)
            ),
        };
        return format!("{program}: {why}\n\n{footer}");
    }
    let (shown, all) = (count(report.slowest.len() as u64), count(report.count));
    let mut out = format!("{program}: the {shown} slowest of {all} calls of {asked}\n\n");
    out.push_str(&format!("{}\n", table(&report.slowest)));
    for (nth, row) in report.slowest.iter().enumerate() {
        out.push_str(&story(nth + 1, row, report.kernel.as_ref()));
        out.extend(lines.get(nth).map(String::as_str));
    }
    format!("{out}\n{}{footer}", meaning(report))
}

fn meaning(report: &Report) -> String {
    let left_out = match report.left_out {
        0 => String::new(),
        left_out => {
            format!("Calls left out, of whose duration nothing is known: {}.\n", count(left_out))
        }
    };
    format!(
        "Running, waiting and unknown (the scanner was away) are of the middle of took. Self: without the calls that were \
         seen.\n{left_out}"
    )
}

fn table(rows: &[CallRow]) -> String {
    let heads = ["call", "at", "took", "running", "waiting", "unknown", "open"];
    let row = |(nth, row): (usize, &CallRow)| {
        let parts = row.parts;
        let mut cells = vec![
            format!("{} {}", nth + 1, row.tree.function),
            format!("+{}", shown(row.start_ns)),
            bounded(row.took),
        ];
        cells.extend([parts.running_ns, parts.waiting_ns, parts.unknown_ns].map(shown));
        cells.push(if row.open { "yes" } else { "" }.to_owned());
        cells
    };
    let rows: Vec<Vec<String>> = rows.iter().enumerate().map(row).collect();
    grid(&heads, 1, &rows)
}

/// What a call waited for, and the calls within it.
fn story(nth: usize, row: &CallRow, coverage: Option<&Coverage>) -> String {
    let mut out = format!("\ncall {nth}, {} in thread {}:\n", bounded(row.took), row.thread);
    for wait in row.waits.iter().take(WAITS_MAX) {
        out.push_str(&blame(wait));
    }
    if row.waits.len() > WAITS_MAX {
        let more = row.waits.len() - WAITS_MAX;
        out.push_str(&format!("  and {more} more waits; --json lists them\n"));
    }
    out.push_str(&counted(row));
    branch(&row.tree, 0, least(&row.tree), &mut out);
    out.push_str(&lines::story(row.lines.as_ref()));
    if let Some(account) = &row.kernel {
        let beside = kernel::Beside { waited_ns: row.waited_ns, waits: &row.waits, coverage };
        out.push_str(&kernel::told(account, &beside));
    }
    out
}

/// What its thread counted in it.
fn counted(row: &CallRow) -> String {
    let told = row
        .counted
        .iter()
        .map(|one| format!("{} {}", one.counter, amount(one.counter, one.count as f64)));
    match told.collect::<Vec<String>>().join(", ") {
        none if none.is_empty() => none,
        told => format!("  counted: {told}\n"),
    }
}

/// What a callee must have taken to be told of, in nanoseconds.
fn least(root: &Node) -> u64 {
    let took = root.total.high_ns.unwrap_or(root.total.low_ns);
    (took as f64 * SHARE_MIN) as u64
}

fn is_worth(node: &Node, least: u64) -> bool {
    node.total.high_ns.is_none_or(|high_ns| high_ns >= least)
}

/// How many callees are told of there.
const fn told_at(depth: usize) -> usize {
    if depth < DEPTH_MAX { CALLEES_MAX } else { 0 }
}

fn branch(node: &Node, depth: usize, least: u64, out: &mut String) {
    let indent = "  ".repeat(depth + 1);
    let arrow = if depth == 0 { "" } else { "→ " };
    let line = match (&node.line, depth) {
        (Some(line), 1..) => format!(" at {}", near(line)),
        _ => String::new(),
    };
    let times =
        if node.calls > 1 { format!(", {} calls", count(node.calls)) } else { String::new() };
    let itself = match node.callees.is_empty() {
        true => String::new(),
        false => format!(", self {}", bounded(node.itself)),
    };
    let name = &node.function;
    out.push_str(&format!("{indent}{arrow}{name}{line}: {}{itself}{times}\n", bounded(node.total)));
    let told = node.callees.iter().filter(|one| is_worth(one, least)).take(told_at(depth));
    let told: Vec<&Node> = told.collect();
    told.iter().for_each(|one| branch(one, depth + 1, least, out));
    let more = node.callees.len() - told.len();
    if more > 0 {
        out.push_str(&format!("{indent}  and {} more; --json lists them\n", count(more as u64)));
    }
}
