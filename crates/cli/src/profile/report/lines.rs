//! `report --lines`: at which lines threads were in the slow calls of functions.

use super::above::Above;
use super::is_around;
use crate::failure::Failure;
use crate::profile::bounds::bounded;
use crate::profile::lines::{beside, named, samples, told};
use crate::profile::reading::{Trace, near};
use crate::profile::symbols::Symbols;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use tailwater_profile::functions::{Bounds, FunctionRow, Report, SlowLine};
use tailwater_profile::lines::{InCalls, Slow, Weighed};
use tailwater_profile::sampled::{Line, Samples, SlowLines};
use tailwater_profile::trace::Header;
use tailwater_report::{count, grid};

/// Lines told of all functions.
pub(super) const LINES_MAX: usize = 5;

/// Fills in the lines of the report's functions, by one more reading of the trace; tells which files could not serve.
pub(super) fn find(
    report: &mut Report,
    above: Above,
    trace: &Path,
    header: &Header,
) -> Result<Vec<String>, Failure> {
    let samples = samples_of(trace, header)?;
    report.samples = Some(samples.coverage());
    // Where nothing is known of the percentile but an upper bound, any call might be slow.
    let known = report.functions.iter().filter(|row| above.of(row) > 0);
    let is_part = report.quality.kept.is_some();
    let slow = |row: &FunctionRow| {
        let is_around = is_around(row, report.length_ns) || row.calls.count < above.calls();
        // A part has the slowest requests alone, so their calls do not tell what is usual: each counts as a whole.
        let usual = if is_part { Bounds { low_ns: 0, high_ns: Some(0) } } else { row.calls.p50 };
        (row.id, Slow { above_ns: above.of(row), usual, is_around })
    };
    let slow: HashMap<_, _> = known.map(slow).collect();
    let mut calls = InCalls::new(header, (report.rate, report.length_ns), samples, slow);
    Trace::open(trace)?.read(|item| {
        // Damage was counted in the first reading.
        if let Ok(record) = item {
            calls.add(record);
        }
    });
    let mut found = calls.finish();
    let mut symbols = Symbols::new(&report.names);
    for row in &mut report.functions {
        let (calls, addresses) = found.itself.remove(&row.id).unwrap_or_default();
        let (above_ns, sampled) = (above.of(row), named(&addresses, &mut symbols));
        row.lines = Some(SlowLines { calls, above_ns, sampled });
    }
    let lines = slow_lines(&found.within, |weighed| {
        let lines = named(&weighed.addresses, &mut symbols).lines;
        (report.names.of(weighed.function), lines)
    });
    let changed = symbols.changed().to_vec();
    report.slow_lines = lines;
    report.unclear_samples = found.unclear;
    Ok(changed)
}

/// Lines of slow calls, those first that surely added the most. `named` tells the name of the function, and the lines.
fn slow_lines(
    within: &[Weighed],
    mut named: impl FnMut(&Weighed) -> (String, Vec<Line>),
) -> Vec<SlowLine> {
    // Of each, samples and bounds.
    let mut sums: BTreeMap<(String, String), [u64; 3]> = BTreeMap::new();
    for weighed in within {
        let (function, lines) = named(weighed);
        for Line { line, samples } in lines {
            let sum = sums.entry((function.clone(), line)).or_default();
            let Bounds { low_ns, high_ns } = weighed.added(samples);
            let more = [samples, low_ns, high_ns.unwrap_or(u64::MAX)];
            for (sum, more) in sum.iter_mut().zip(more) {
                *sum = sum.saturating_add(more);
            }
        }
    }
    let rows = sums.into_iter().map(|((function, line), [samples, low_ns, high_ns])| {
        let added = Bounds { low_ns, high_ns: Some(high_ns) };
        SlowLine { function, line: Line { line, samples }, added }
    });
    let mut rows: Vec<SlowLine> = rows.collect();
    // Of equals, those stay first whose names do.
    rows.sort_by_key(|one| {
        (Reverse(one.added.low_ns), Reverse(one.added.high_ns), Reverse(one.line.samples))
    });
    rows
}

/// Fills in where threads were at all, of a trace in which no call was seen; tells which files could not serve.
pub(super) fn find_all(
    report: &mut Report,
    trace: &Path,
    header: &Header,
) -> Result<Vec<String>, Failure> {
    let samples = samples_of(trace, header)?;
    let mut symbols = Symbols::new(&report.names);
    let sampled = named(&samples.all(), &mut symbols);
    let changed = symbols.changed().to_vec();
    (report.samples, report.sampled) = (Some(samples.coverage()), Some(sampled));
    Ok(changed)
}

fn samples_of(trace: &Path, header: &Header) -> Result<Samples, Failure> {
    beside(trace, header).ok_or_else(|| {
        let trace = trace.display();
        Failure::usage(format!(
            "{trace}: found no samples of it ({trace}.lines); they come by `tailwater profile record --lines`"
        ))
    })
}

/// Above the functions: what made slow calls slow, whichever they are of, and which calls are slow for that. Nothing where no sample
/// lies in one.
pub(super) fn table(report: &Report, program: &str, above: Above) -> String {
    let in_all: u64 = report.slow_lines.iter().map(|one| one.line.samples).sum();
    if in_all == 0 {
        return String::new();
    }
    let shown = &report.slow_lines[..report.slow_lines.len().min(LINES_MAX)];
    let row = |one: &SlowLine| {
        let share = one.line.samples as f64 / in_all as f64 * 100.0;
        vec![
            one.function.clone(),
            near(&one.line.line).to_owned(),
            bounded(one.added),
            count(one.line.samples),
            format!("{share:.0}"),
        ]
    };
    let rows: Vec<Vec<String>> = shown.iter().map(row).collect();
    let grid = grid(&["function", "at, in slow calls", "adds", "samples", "%"], 2, &rows);
    let more = match report.slow_lines.len() - shown.len() {
        0 => String::new(),
        1 => "and 1 more line; --json lists them\n".to_owned(),
        more => format!("and {} more lines; --json lists them\n", count(more as u64)),
    };
    let (percentile, calls) = (above.name(), above.calls());
    let usual = match report.quality.kept {
        Some(_) => {
            "how long slow calls took for it: the trace has slow requests alone, and what is usual is not known"
        }
        None => "by how much slow calls took longer than the median of their function for it",
    };
    format!(
        "{}: lines by what they add to slow calls\n\n{grid}\n{more}Adds: {usual}. Waits are not in it. Slow: calls of {percentile} or more, of \
         functions of which {calls} calls were seen, with what they call. Of one that lasts for more than half of the recording, \
         its own time alone.\n{}\n",
        near(program),
        unclear(report)
    )
}

/// Below the functions: where threads were at all, where no call was seen; or why no line of slow calls is told.
pub(super) fn without_slow_calls(report: &Report, above: Above) -> String {
    if let Some(sampled) = &report.sampled {
        let lines: String = told(sampled).map(|line| format!("  {line}\n")).collect();
        return format!("\n{} of where threads were, in calls or not:\n{lines}", samples(sampled));
    }
    if !report.slow_lines.is_empty() {
        return String::new();
    }
    let (percentile, calls) = (above.name(), above.calls());
    let lower = if above == Above::P50 { "" } else { "take a lower percentile (--lines=p50), or " };
    format!(
        "\nNo sample lies in a slow call: one of {percentile} or more, of a function of which {calls} calls were seen, whose \
         {percentile} is known and whose median is no most of the recording. For more, {lower}record for longer.\n{}",
        unclear(report)
    )
}

/// Samples that are of no call, in a sentence.
fn unclear(report: &Report) -> String {
    match report.unclear_samples {
        0 => String::new(),
        unclear => format!(
            "{} samples are of no call: calls began or ended then while the scanner was away, in no slow one for certain.\n",
            count(unclear)
        ),
    }
}
