//! `report --lines`: at which lines threads were in the slow calls of functions.

use super::above::Above;
use super::is_around;
use crate::failure::Failure;
use crate::profile::lines::{beside, named, samples, told};
use crate::profile::reading::{Trace, near};
use crate::profile::symbols::Symbols;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::Path;
use tailwater_profile::functions::{FunctionRow, Report};
use tailwater_profile::lines::{InCalls, Slow};
use tailwater_profile::record::FunctionId;
use tailwater_profile::sampled::{Addresses, Samples, SlowLine, SlowLines};
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
    let slow = |row: &FunctionRow| {
        let is_around = is_around(row, report.length_ns) || row.calls.count < above.calls();
        (row.id, Slow { above_ns: above.of(row), is_around })
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
    let of = |(id, addresses): (&FunctionId, &Addresses)| {
        let function = report.names.of(*id);
        let lines = named(addresses, &mut symbols).lines;
        lines.into_iter().map(move |line| SlowLine { function: function.clone(), line })
    };
    let mut lines: Vec<SlowLine> = found.within.iter().flat_map(of).collect();
    let key =
        |one: &SlowLine| (Reverse(one.line.samples), one.function.clone(), one.line.line.clone());
    lines.sort_by_cached_key(key);
    let changed = symbols.changed().to_vec();
    report.slow_lines = lines;
    report.unclear_samples = found.unclear;
    Ok(changed)
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

/// Below the functions: where threads were in slow calls, whichever they are of, and which calls are slow for that.
pub(super) fn table(report: &Report, above: Above) -> String {
    if let Some(sampled) = &report.sampled {
        let lines: String = told(sampled).map(|line| format!("  {line}\n")).collect();
        return format!("\n{} of where threads were, in calls or not:\n{lines}", samples(sampled));
    }
    let in_all: u64 = report.slow_lines.iter().map(|one| one.line.samples).sum();
    let unclear = match report.unclear_samples {
        0 => String::new(),
        unclear => format!(
            "{} samples are of no call: calls began or ended then while the scanner was away, in no slow one for certain.\n",
            count(unclear)
        ),
    };
    let (percentile, calls) = (above.name(), above.calls());
    if in_all == 0 {
        let lower =
            if above == Above::P50 { "" } else { "take a lower percentile (--lines=p50), or " };
        return format!(
            "\nNo sample lies in a slow call: one of {percentile} or more, of a function of which {calls} calls were seen, whose \
             {percentile} is known and whose median is no most of the recording. For more, {lower}record for longer.\n{unclear}"
        );
    }
    let shown = &report.slow_lines[..report.slow_lines.len().min(LINES_MAX)];
    let row = |one: &SlowLine| {
        let share = one.line.samples as f64 / in_all as f64 * 100.0;
        vec![
            one.function.clone(),
            near(&one.line.line).to_owned(),
            count(one.line.samples),
            format!("{share:.0}"),
        ]
    };
    let rows: Vec<Vec<String>> = shown.iter().map(row).collect();
    let grid = grid(&["function", "at, in slow calls", "samples", "%"], 2, &rows);
    format!(
        "\n{grid}\nSlow: calls of {percentile} or more, of functions of which {calls} calls were seen, with what they call. Of one \
         that lasts for more than half of the recording, its own time alone.\n{unclear}"
    )
}
