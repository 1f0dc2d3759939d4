//! What was measured, for people and as JSON.

use crate::Result;
use machine::Origin;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use tailwater_report::grid;
use tailwater_stats::result::Spread;

/// One part's findings.
#[derive(Debug, Serialize)]
pub(crate) struct Section {
    pub(crate) name: &'static str,
    /// Where it was measured.
    #[serde(flatten)]
    origin: Origin,
    /// How to read it, one sentence.
    pub(crate) about: String,
    /// Names of the numbers, in order, with their decimals.
    pub(crate) columns: &'static [(&'static str, usize)],
    pub(crate) lines: Vec<Line>,
    /// Contenders and programs that could not run here, and what to type.
    pub(crate) left_out: Vec<String>,
    /// What a program said, to be shown as it is.
    pub(crate) quoted: Option<String>,
}

/// One contender at one piece of work.
#[derive(Debug, Serialize)]
pub(crate) struct Line {
    pub(crate) work: String,
    pub(crate) tool: String,
    pub(crate) runs: usize,
    /// By the name of the column.
    pub(crate) of: BTreeMap<&'static str, Spread>,
    /// Columns and the largest medians that are aimed at.
    pub(crate) goals: Vec<(&'static str, f64)>,
}

impl Section {
    pub(crate) fn new(
        name: &'static str,
        about: impl Into<String>,
        columns: &'static [(&'static str, usize)],
    ) -> Self {
        let about = about.into();
        let (lines, left_out) = (vec![], vec![]);
        Self { name, origin: Origin::now(), about, columns, lines, left_out, quoted: None }
    }

    /// A heading, a table, what was left out.
    pub(crate) fn text(&self) -> String {
        let mut heads = vec!["", "", "runs"];
        heads.extend(self.columns.iter().map(|(name, _)| *name));
        heads.push("goal");
        let mut last = "";
        let rows = self.lines.iter().map(|line| {
            let work = if line.work == last { String::new() } else { line.work.clone() };
            last = &line.work;
            self.row(work, line)
        });
        let rows: Vec<Vec<String>> = rows.collect();
        let mut text = format!("{}: {}\n\n{}\n", self.name, self.about, grid(&heads, 2, &rows));
        for line in &self.left_out {
            text.push_str(&format!("PASSED OVER: {line}\n"));
        }
        if let Some(quoted) = &self.quoted {
            text.push_str(&format!("\n{quoted}"));
        }
        text
    }

    fn row(&self, work: String, line: &Line) -> Vec<String> {
        let mut cells = vec![work, line.tool.clone(), line.runs.to_string()];
        for (name, decimals) in self.columns {
            let cell = line.of.get(name).map(|spread| show(*spread, *decimals));
            cells.push(cell.unwrap_or_else(|| "–".to_owned()));
        }
        cells.push(judged(line));
        cells
    }
}

/// One goal as it is, several by those that were missed.
fn judged(line: &Line) -> String {
    let is_met = |(column, most): &&(&str, f64)| {
        line.of.get(column).is_some_and(|spread| spread.median <= *most)
    };
    match &line.goals[..] {
        [] => String::new(),
        [goal @ (_, most)] => {
            format!("≤ {most:.2}: {}", if is_met(&goal) { "met" } else { "missed" })
        }
        goals => {
            let missed = goals.iter().filter(|goal| !is_met(goal));
            let missed: Vec<String> =
                missed.map(|(column, most)| format!("{column} ≤ {most}")).collect();
            if missed.is_empty() { "met".into() } else { format!("missed: {}", missed.join(", ")) }
        }
    }
}

/// The median and, where there is one, the range.
fn show(spread: Spread, decimals: usize) -> String {
    let Spread { min, median, max } = spread;
    if min == max {
        return format!("{median:.decimals$}");
    }
    format!("{median:.decimals$} [{min:.decimals$}–{max:.decimals$}]")
}

/// The parts of a result file, whichever run each is of.
#[derive(Default, Serialize, Deserialize)]
struct Kept {
    sections: Vec<Value>,
}

/// Writes a section into this file, in place of an earlier one of its part.
pub(crate) fn keep(path: &Path, section: &Section) -> Result {
    let mut kept: Kept = machine::result::read(path)?;
    let value = serde_json::to_value(section).map_err(|error| error.to_string())?;
    match kept.sections.iter_mut().find(|earlier| earlier["name"] == section.name) {
        Some(earlier) => *earlier = value,
        None => kept.sections.push(value),
    }
    machine::result::write(path, &kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_shows_ranges_goals_and_what_is_missing() {
        let mut section = Section::new("calls", "extra time", &[("extra ns", 2), ("factor", 2)]);
        let of = BTreeMap::from([("extra ns", Spread::of(&[0.5, 0.75, 1.5]))]);
        let line = |goal| Line {
            work: "empty".into(),
            tool: "x".into(),
            runs: 3,
            of: of.clone(),
            goals: vec![("extra ns", goal)],
        };
        section.lines = vec![line(1.0), line(0.5)];
        section.left_out = vec!["perf: found none".into()];
        let text = section.text();
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[4].contains("0.75 [0.50–1.50]") && lines[4].ends_with("≤ 1.00: met"),
            "{text}"
        );
        assert!(!lines[5].contains("empty") && lines[5].ends_with("missed"), "{text}");
        assert_eq!(lines[6], "PASSED OVER: perf: found none");
        section.lines[0].goals.push(("factor", 2.0));
        let text = section.text();
        assert!(text.lines().nth(4).unwrap().ends_with("missed: factor ≤ 2"), "{text}");
    }

    #[test]
    fn a_part_that_is_taken_again_leaves_the_others() {
        let path = std::env::temp_dir().join(format!("profile-parts-{}", std::process::id()));
        let section = |name, ns| {
            let mut section = Section::new(name, "extra time", &[("extra ns", 2)]);
            let of = BTreeMap::from([("extra ns", Spread::of(&[ns]))]);
            let (work, tool) = ("empty".into(), "x".into());
            section.lines = vec![Line { work, tool, runs: 1, of, goals: vec![] }];
            section
        };
        for (name, ns) in [("calls", 1.0), ("truth", 2.0), ("calls", 3.0)] {
            keep(&path, &section(name, ns)).unwrap();
        }
        let kept: Kept = machine::result::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let told = kept.sections.iter().map(|section| {
            let ns = &section["lines"][0]["of"]["extra ns"]["median"];
            (section["name"].as_str().unwrap(), ns.as_f64().unwrap())
        });
        assert_eq!(told.collect::<Vec<_>>(), [("calls", 3.0), ("truth", 2.0)]);
        assert!(
            kept.sections
                .iter()
                .all(|section| section["machine"]["cores"].as_u64().is_some_and(|cores| cores > 0))
        );
    }
}
