//! What the profiler costs and finds, part by part: `benches/profile`.

use super::{head, line};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct Report {
    sections: Vec<Section>,
}

#[derive(Deserialize)]
struct Section {
    name: String,
    /// With the decimals of each.
    columns: Vec<(String, usize)>,
    lines: Vec<Line>,
    quoted: Option<String>,
}

#[derive(Deserialize)]
struct Line {
    work: String,
    tool: String,
    of: BTreeMap<String, Reading>,
    goals: Vec<(String, f64)>,
}

/// A spread; what could not be computed is no number.
#[derive(Clone, Copy, Deserialize)]
struct Reading {
    min: Option<f64>,
    median: Option<f64>,
    max: Option<f64>,
}

/// What they are compared with: each is one time itself.
const BASES: [&str; 2] = ["plain", "plain, gcc"];

/// Extra ns of a call: a line for each shape, a column for each tool.
pub(super) fn calls(result: &str) -> String {
    by_tool(&[section(result, "calls")], "extra ns")
}

/// CPU time over the plain program's: a line for each program with its goal, a column for each tool.
pub(super) fn programs(result: &str) -> String {
    by_tool(&[section(result, "programs"), section(result, "memcached")], "factor")
}

/// CPU time over the unscanned program's, beside what else makes it dearer.
pub(super) fn scanned(result: &str) -> String {
    by_tool(&[section(result, "scanned")], "factor")
}

/// A part as it is: a line for each contender, a column for each number.
pub(super) fn by_line(result: &str, part: &str) -> String {
    let section = section(result, part);
    let mut heads = vec![String::new(), String::new()];
    heads.extend(section.columns.iter().map(|(name, _)| name.clone()));
    let mut text = head(&heads);
    for row in &section.lines {
        let mut cells = vec![row.work.clone(), row.tool.clone()];
        cells.extend(section.columns.iter().map(|(name, decimals)| row.cell(name, *decimals)));
        text += &line(&cells);
    }
    text
}

/// What a program said in a part.
pub(super) fn said(result: &str, part: &str) -> String {
    let said = section(result, part).quoted.expect("what a program said");
    format!("```text\n{}\n```\n", said.trim_end())
}

fn section(result: &str, part: &str) -> Section {
    let report: Report = serde_json::from_str(result).expect("a result of benches/profile");
    let found = report.sections.into_iter().find(|section| section.name == part);
    found.unwrap_or_else(|| panic!("the result has no part `{part}`; type: profile --only {part}"))
}

fn by_tool(sections: &[Section], column: &str) -> String {
    let all = || sections.iter().flat_map(|section| &section.lines);
    let tools = each_once(all().map(|line| &*line.tool).filter(|tool| !BASES.contains(tool)));
    let mut heads = vec![String::new()];
    heads.extend(tools.iter().map(|tool| (*tool).to_owned()));
    let mut text = head(&heads);
    for section in sections {
        let decimals = section.columns.iter().find(|(name, _)| name == column);
        let decimals = decimals.expect("the column").1;
        for work in each_once(section.lines.iter().map(|line| &*line.work)) {
            let ours: Vec<&Line> = section.lines.iter().filter(|line| line.work == work).collect();
            let goal = ours.iter().flat_map(|line| &line.goals).find(|(name, _)| name == column);
            let goal = goal.map_or(String::new(), |(_, most)| format!(" ({most:.2})"));
            let mut cells = vec![format!("{work}{goal}")];
            cells.extend(tools.iter().map(|tool| {
                let line = ours.iter().find(|line| line.tool == *tool);
                line.map_or("–".into(), |line| line.cell(column, decimals))
            }));
            text += &line(&cells);
        }
    }
    text
}

fn each_once<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}

impl Line {
    /// The median, and the range in brackets where there is one.
    fn cell(&self, column: &str, decimals: usize) -> String {
        let Some(Reading { min: Some(min), median: Some(median), max: Some(max) }) =
            self.of.get(column).copied()
        else {
            return "–".to_owned();
        };
        if min == max {
            return format!("{median:.decimals$}");
        }
        format!("{median:.decimals$} [{min:.decimals$}–{max:.decimals$}]")
    }
}

#[cfg(test)]
const FOUND: &str = r#"{ "sections": [
    { "name": "programs", "columns": [["CPU ms", 0], ["factor", 2]], "quoted": null, "lines": [
        { "work": "JSON", "tool": "plain", "of": {}, "goals": [] },
        { "work": "JSON", "tool": "ours", "of": { "factor": { "min": 1.0, "median": 1.1, "max": 1.3 } },
          "goals": [["factor", 1.1]] },
        { "work": "SQL", "tool": "perf", "of": { "factor": { "min": 2.0, "median": 2.0, "max": 2.0 } }, "goals": [] }
    ] },
    { "name": "memcached", "columns": [["factor", 3]], "quoted": null, "lines": [
        { "work": "memcached", "tool": "perf", "of": { "factor": { "min": 1.0, "median": 1.5, "max": 1.5 } }, "goals": [] }
    ] },
    { "name": "truth", "columns": [["missed %", 1], ["error µs", 2]], "quoted": "a\nb\n", "lines": [
        { "work": "tree", "tool": "ours", "goals": [["missed %", 1.0]], "of": {
            "missed %": { "min": 0.0, "median": 0.5, "max": 1.0 }, "error µs": { "min": null, "median": null, "max": null } } }
    ] }
] }"#;

#[test]
fn programs_and_memcached_share_a_table_with_a_column_for_each_tool() {
    let rows = "| | ours | perf |\n|---|---|---|\n| JSON (1.10) | 1.10 [1.00–1.30] | – |\n| SQL | – | 2.00 |\n\
                | memcached | – | 1.500 [1.000–1.500] |\n";
    assert_eq!(programs(FOUND), rows);
}

#[test]
fn a_part_is_drawn_as_it_is_and_what_is_no_number_is_a_dash() {
    let table = by_line(FOUND, "truth");
    assert!(table.ends_with("| tree | ours | 0.5 [0.0–1.0] | – |\n"), "{table}");
    assert_eq!(said(FOUND, "truth"), "```text\na\nb\n```\n");
}

#[test]
#[should_panic(expected = "no part `calls`")]
fn a_part_that_was_not_run_is_named() {
    calls(FOUND);
}
