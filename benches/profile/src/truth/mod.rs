//! What the scanner finds of calls that are timed inside the program, matched by generation, and what
//! that costs: with a core of its own, and on the program's.

mod matched;

use crate::make::Source;
use crate::place::Place;
use crate::table::{Line, Section};
use crate::tool::Tool;
use crate::turns::{by_turns, ratios};
use crate::{Effort, Result};
use machine::command;
use matched::{Matched, Said};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use tailwater_stats::result::Spread;

const COLUMNS: [(&str, usize); 7] = [
    ("missed %", 2),
    ("overlooked %", 2),
    ("gap %", 1),
    ("p50 error µs", 2),
    ("p99 error µs", 1),
    ("÷ unscanned", 3),
    ("÷ plain", 3),
];
/// Of calls over 14 µs.
const GOALS: [(&str, f64); 4] =
    [(COLUMNS[0].0, 1.0), (COLUMNS[3].0, 3.0), (COLUMNS[4].0, 13.0), (COLUMNS[5].0, 1.05)];
const TOOLS: [Tool; 3] = [Tool::Plain, Tool::Unscanned, Tool::Scanned];
const WORKS: [&str; 2] = ["tree", "requests"];

pub(crate) fn measure(place: &Place, effort: Effort) -> Result<Section> {
    let about = "calls over 14 µs that are not in the trace, of all and of those while the scanner was \
                 there; in the trace, but begun or ended while it was not; the error of their duration; the median round's time \
                 over those of the unscanned and the plain program";
    let mut section = Section::new("truth", about, &COLUMNS);
    let source = Source { name: "truth", files: vec![place.program("truth.c")], includes: vec![] };
    let made = TOOLS.map(|tool| source.make(place, tool.build()));
    let programs = made.into_iter().collect::<Result<Vec<PathBuf>>>()?;
    if effort.build_only {
        return Ok(section);
    }
    let ms = if effort.short { 100 } else { 1000 };
    for work in WORKS {
        for (where_, cpu) in [("own core", None), ("shared core", Some(first_cpu()?))] {
            let found = by_turns(TOOLS.len(), effort.repetitions(7), |at| {
                run(place, TOOLS[at], &programs[at], cpu.as_deref(), &[work, &ms.to_string()])
            })?;
            section.lines.push(line(&format!("{work}, {where_}"), &found));
        }
    }
    Ok(section)
}

/// `found` is by [`TOOLS`].
fn line(work: &str, found: &[Vec<(f64, Matched)>]) -> Line {
    let rounds = |at: usize| found[at].iter().map(|(ns, _)| *ns).collect::<Vec<f64>>();
    let scanned = |of: &dyn Fn(&Matched) -> f64| {
        Spread::of(&found[2].iter().map(|(_, matched)| of(matched)).collect::<Vec<_>>())
    };
    let spreads = [
        scanned(&|matched| matched.missed_percent),
        scanned(&|matched| matched.overlooked_percent),
        scanned(&|matched| matched.gap_percent),
        scanned(&|matched| matched.error_p50_us),
        scanned(&|matched| matched.error_p99_us),
        ratios(&rounds(2), &rounds(1)),
        ratios(&rounds(2), &rounds(0)),
    ];
    Line {
        work: work.to_owned(),
        tool: TOOLS[2].name().to_owned(),
        runs: found[2].len(),
        of: COLUMNS.iter().map(|(name, _)| *name).zip(spreads).collect::<BTreeMap<_, _>>(),
        goals: GOALS.to_vec(),
    }
}

/// The median round in ns, and what was found, if anybody looked.
fn run(
    place: &Place,
    tool: Tool,
    program: &Path,
    cpu: Option<&str>,
    words: &[&str],
) -> Result<(f64, Matched)> {
    let mut command = tool.run(place, program, "truth.trace");
    if let Some(cpu) = cpu {
        command = on(cpu, &command);
    }
    let said = Said::read(&command::output(command.args(words))?)?;
    let matched = match tool {
        Tool::Scanned => said.find_in(&place.made("truth.trace"))?,
        _ => Matched::default(),
    };
    Ok((said.round_ns, matched))
}

/// The same command, on one core alone.
fn on(cpu: &str, command: &Command) -> Command {
    let mut pinned = Command::new("taskset");
    pinned.args(["--cpu-list", cpu]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            pinned.env(name, value);
        }
    }
    if let Some(folder) = command.get_current_dir() {
        pinned.current_dir(folder);
    }
    pinned
}

/// One that this process may use.
fn first_cpu() -> Result<String> {
    let path = "/proc/self/status";
    let status = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let first = list.and_then(|list| list.trim().split([',', '-']).next());
    first.map(str::to_owned).ok_or_else(|| format!("found no list of cores in {path}"))
}
