//! What the scanner finds, and what finding it costs: the application of LDB's section 6.1 (NSDI 2024),
//! twenty frames that are built anew every so many microseconds, recorded under several budgets.
//!
//! Wants two cores with nothing else to do: where the scanner was away for long, a line says nothing.

use crate::make::Source;
use crate::place::Place;
use crate::table::{Line, Section};
use crate::tool::Build;
use crate::turns::by_turns;
use crate::{Effort, Result};
use machine::command;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use tailwater_stats::result::Spread;

/// Frames that the program builds in a round.
const DEPTH: f64 = 20.0;
/// None: nobody looks.
const BUDGETS: [Option<&str>; 4] = [None, Some("5%"), Some("20%"), Some("100%")];
const COLUMNS: [(&str, usize); 7] = [
    ("look ns", 1),
    ("p99.9 µs", 2),
    ("found %", 1),
    ("extra ns/round", 0),
    ("app speed", 3),
    ("scanner away %", 1),
    ("bytes/call", 1),
];

pub(crate) fn measure(place: &Place, effort: Effort) -> Result<Section> {
    let about = "from one look that found out all frames to the next; calls found of all; the median round's time over the unscanned one's; rounds in the \
                 same time over the unscanned one's";
    let mut section = Section::new("granularity", about, &COLUMNS);
    let source =
        Source { name: "refresh", files: vec![place.program("refresh.c")], includes: vec![] };
    let program = source.make(place, Build::Pass)?;
    if effort.build_only {
        return Ok(section);
    }
    let (ms, periods) = if effort.short { (50, &[10][..]) } else { (200, &[1, 2, 5, 10, 100][..]) };
    for us in periods {
        let found = by_turns(BUDGETS.len(), effort.repetitions(7), |at| {
            run(place, &program, BUDGETS[at], *us, ms)
        })?;
        for (budget, runs) in BUDGETS.iter().zip(&found).skip(1) {
            let work = format!("every {us} µs");
            section.lines.push(line(work, budget.unwrap_or_default(), runs, &found[0]));
        }
    }
    Ok(section)
}

/// One run of the program.
#[derive(Debug, Default)]
struct Run {
    rounds: f64,
    round_ns: f64,
    look_ns: f64,
    look_p999_us: f64,
    found: f64,
    away: f64,
    bytes_per_call: f64,
}

fn line(work: String, budget: &str, runs: &[Run], bases: &[Run]) -> Line {
    let with = |of: &dyn Fn(&Run, &Run) -> f64| {
        Spread::of(&runs.iter().zip(bases).map(|(run, base)| of(run, base)).collect::<Vec<_>>())
    };
    let spreads = [
        with(&|run, _| run.look_ns),
        with(&|run, _| run.look_p999_us),
        with(&|run, _| 100.0 * run.found),
        with(&|run, base| run.round_ns - base.round_ns),
        with(&|run, base| run.rounds / base.rounds),
        with(&|run, _| 100.0 * run.away),
        with(&|run, _| run.bytes_per_call),
    ];
    let of: BTreeMap<_, _> = COLUMNS.iter().map(|(name, _)| *name).zip(spreads).collect();
    Line { work, tool: format!("budget {budget}"), runs: runs.len(), of, goals: vec![] }
}

fn run(place: &Place, program: &Path, budget: Option<&str>, us: u32, ms: u32) -> Result<Run> {
    let words = [us.to_string(), ms.to_string()];
    let Some(budget) = budget else {
        let said = command::output(std::process::Command::new(program).args(words))?;
        return rounds(&said);
    };
    let trace = place.made("refresh.trace");
    let mut record = place.tailwater();
    record.args(["profile", "record", "--budget", budget, "-o"]).arg(&trace);
    let run = rounds(&command::output(record.arg("--").arg(program).args(words))?)?;
    let mut report = place.tailwater();
    report.args(["profile", "report", "--json", "--function", "frames"]).arg(&trace);
    let report: Value = serde_json::from_str(&command::output(&mut report)?)
        .map_err(|error| format!("could not read the report: {error}"))?;
    let of = |row: &Value, key: &str| row[key].as_f64().unwrap_or(0.0);
    let rows = report["functions"].as_array().into_iter().flatten();
    let calls: f64 = rows.map(|row| of(row, "count") + of(row, "left_out")).sum();
    let bytes = std::fs::metadata(&trace).map_or(0, |data| data.len());
    Ok(Run {
        look_ns: of(&report["quality"], "look_ns"),
        look_p999_us: of(&report["quality"], "look_p999_ns") / 1e3,
        found: calls / (run.rounds * DEPTH),
        away: of(&report["quality"], "gap_ns") / 1e6 / f64::from(ms),
        bytes_per_call: bytes as f64 / calls.max(1.0),
        ..run
    })
}

/// Reads `ROUNDS NS`.
fn rounds(said: &str) -> Result<Run> {
    let words: Vec<f64> = said.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    match words[..] {
        [rounds, round_ns] if rounds > 0.0 => Ok(Run { rounds, round_ns, ..Run::default() }),
        _ => Err(format!("refresh said `{}`", said.trim())),
    }
}
