//! Ours beside theirs, number by number.

use crate::data::{Claim, Figure, Unit};
use crate::results::Results;
use crate::tolerance;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use tailwater_stats::result::Spread;

/// Said of short runs, below what was compared.
const SHORT: &str = "\nShort runs: these numbers prove that the figures work, and nothing else.\n";

/// Every number of the chosen figures.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Compared {
    /// The version that compared.
    pub tailwater: String,
    /// Ours are of short runs, which are no result.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub short: bool,
    /// Claim by claim, the one that is judged first.
    pub rows: Vec<Row>,
}

/// One number of the text beside one of ours.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Row {
    /// Whose text.
    pub paper: String,
    /// Which of its figures.
    pub figure: u32,
    /// Whose number ours is: the label of a controller.
    pub subject: String,
    /// What the number says.
    pub what: String,
    /// Where it stands.
    pub place: String,
    /// Of all values.
    pub unit: Unit,
    /// The publication's value.
    pub theirs: f64,
    /// When ours counts as the same.
    pub asked: String,
    /// How many seeds each run was played with.
    pub seeds: u32,
    /// The median over the seeds, the lowest and the highest; nothing where a seed has no number.
    pub ours: Option<Spread>,
    /// The text speaks of this subject. The others are shown beside it and not judged.
    pub counted: bool,
    /// Whether the median meets the claim; nothing where it is not counted or has no number.
    pub met: Option<bool>,
}

impl Compared {
    /// Asks every claim of every subject.
    #[must_use]
    pub fn new(figures: &[Figure], results: &Results) -> Self {
        let claims = figures
            .iter()
            .flat_map(|figure| figure.claims.iter().map(move |claim| (figure, claim)));
        let rows = claims.flat_map(|(figure, claim)| {
            claim
                .subjects()
                .map(move |(subject, counted)| row(figure, claim, (subject, counted), results))
        });
        Self {
            tailwater: env!("CARGO_PKG_VERSION").into(),
            short: results.short,
            rows: rows.collect(),
        }
    }

    /// These numbers, but for the figures that were compared anew: `newer` has all rows of those. Figures stand in the
    /// order of their numbers, paper by paper.
    #[must_use]
    pub fn replaced_by(self, newer: &Self) -> Self {
        let is_older = |row: &Row| !newer.rows.iter().any(|other| other.figure() == row.figure());
        let mut rows: Vec<Row> = self.rows.into_iter().filter(is_older).collect();
        let short = newer.short || (self.short && !rows.is_empty());
        rows.extend_from_slice(&newer.rows);
        rows.sort_by(|one, other| one.figure().cmp(&other.figure()));
        Self { tailwater: newer.tailwater.clone(), short, rows }
    }

    /// A row of one of these figures that is of more than so many seeds, which fewer must not replace. Those of short runs
    /// may always be replaced.
    #[must_use]
    pub fn with_more_seeds(&self, figures: &[Figure], seeds: u32) -> Option<&Row> {
        let is_of = |row: &Row, figure: &Figure| row.figure() == (&*figure.paper, figure.number);
        let is_chosen = |row: &&Row| figures.iter().any(|figure| is_of(row, figure));
        let mut rows = self.rows.iter().filter(|row| !self.short && row.seeds > seeds);
        rows.find(is_chosen)
    }

    /// The numbers, and how many claims are met: for the terminal and for a file.
    #[must_use]
    pub fn markdown(&self) -> String {
        let short = if self.short { SHORT } else { "" };
        format!("{}\n{}{short}", self.table(), self.counts())
    }

    /// A row for each number, in Markdown.
    #[must_use]
    pub fn table(&self) -> String {
        let most = self.rows.iter().map(|row| row.seeds).max().unwrap_or(1);
        let range = if most > 1 {
            format!(", median [lowest–highest of {most} seeds]")
        } else {
            String::new()
        };
        let mut text = format!(
            "| figure | number in the text | of | theirs | asked | ours{range} | met |\n\
             |---|---|---|---|---|---|---|\n"
        );
        for row in &self.rows {
            let _ = writeln!(
                text,
                "| {} {} | {} ({}) | {} | {} | {} | {} | {} |",
                row.paper,
                row.figure,
                row.what,
                row.place,
                row.subject,
                with_unit(number(row.theirs), row.unit),
                row.asked,
                row.shown(most),
                row.verdict(),
            );
        }
        text
    }

    /// How many claims of each publication are met, in Markdown.
    #[must_use]
    pub fn counts(&self) -> String {
        let mut papers: Vec<&str> = self.rows.iter().map(|row| row.paper.as_str()).collect();
        papers.dedup();
        let mut text =
            String::from("| claims of | judged | met | without a number |\n|---|---|---|---|\n");
        for paper in papers {
            let judged = || self.rows.iter().filter(|row| row.paper == paper && row.counted);
            let met = judged().filter(|row| row.met == Some(true)).count();
            let silent = judged().filter(|row| row.met.is_none()).count();
            let _ = writeln!(text, "| {paper} | {} | {met} | {silent} |", judged().count());
        }
        text
    }
}

impl Row {
    fn figure(&self) -> (&str, u32) {
        (&self.paper, self.figure)
    }

    /// Below a heading that speaks of so many seeds.
    fn shown(&self, most: u32) -> String {
        let Some(ours) = self.ours else {
            return "–".into();
        };
        let median = with_unit(number(ours.median), self.unit);
        if self.seeds == 1 {
            return median;
        }
        let seeds = match self.seeds {
            seeds if seeds == most => String::new(),
            seeds => format!(" of {seeds} seeds"),
        };
        format!("{median} [{}–{}{seeds}]", number(ours.min), number(ours.max))
    }

    const fn verdict(&self) -> &'static str {
        match (self.counted, self.met) {
            (false, _) => "",
            (true, Some(true)) => "yes",
            (true, Some(false)) => "**no**",
            (true, None) => "no number",
        }
    }
}

fn row(figure: &Figure, claim: &Claim, (subject, counted): (&str, bool), results: &Results) -> Row {
    let values: Option<Vec<f64>> =
        (0..results.seeds).map(|seed| claim.measure.value(results, subject, seed)).collect();
    let in_unit = |values: Vec<f64>| {
        let values: Vec<f64> =
            values.into_iter().map(|value| claim.unit.from_quantity(value)).collect();
        Spread::of(&values)
    };
    let ours = values.map(in_unit);
    let met = |ours: Spread| tolerance::is_met(claim.unit, claim.bound, claim.theirs, ours.median);
    Row {
        paper: figure.paper.clone(),
        figure: figure.number,
        subject: subject.into(),
        what: claim.what.clone(),
        place: claim.place.clone(),
        unit: claim.unit,
        theirs: claim.theirs,
        asked: tolerance::asked(claim.unit, claim.bound),
        seeds: results.seeds,
        ours,
        counted,
        met: ours.filter(|_| counted).map(met),
    }
}

fn with_unit(number: String, unit: Unit) -> String {
    format!("{number} {unit}")
}

/// Three digits, and no more decimals than two.
fn number(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 100.0 || size == 0.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    };
    let text = format!("{value:.decimals$}");
    let shortest = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text.as_str()
    };
    if shortest == "-0" { "0".into() } else { shortest.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_stats::result::{AskedRun, Rates, Run, RunVerdict};

    const FIGURE: &str = "paper = \"p\"\nnumber = 1\ntitle = \"t\"\nscenarios = [\"s\"]\n\
        [[claim]]\nwhat = \"goodput\"\nplace = \"§1\"\ntheirs = 801\nunit = \"k/s\"\nof = \"a\"\nbeside = [\"b\", \"c\"]\n\
        measure = { scenario = \"s\", read = { run = \"goodput\" } }\n";

    fn compared(of_a: [f64; 3]) -> Compared {
        let run = |profile: &str, repetition, krps| Run {
            asked: AskedRun { profile: profile.into(), repetition, ..AskedRun::default() },
            rates: Rates { goodput_rps: krps * 1e3, ..Rates::default() },
            verdict: RunVerdict { valid: true, ..RunVerdict::default() },
            ..Run::default()
        };
        let mut runs: Vec<Run> = (0..).zip(of_a).map(|(seed, krps)| run("a", seed, krps)).collect();
        runs.extend((0..).zip(of_a).map(|(seed, krps)| run("b", seed, krps)));
        runs.push(run("c", 0, 801.0));
        let figure: Figure = toml::from_str(FIGURE).expect("it is a figure");
        Compared::new(&[figure], &Results::of("s", runs))
    }

    #[test]
    fn the_median_decides_and_the_spread_is_shown() {
        let met = compared([700.0, 810.0, 820.0]);
        assert_eq!(met.rows[0].met, Some(true));
        assert_eq!(met.rows[0].ours, Some(Spread { min: 700.0, median: 810.0, max: 820.0 }));
        assert!(met.table().contains("| 810 k/s [700–820] | yes |"), "{}", met.table());
        let missed = compared([700.0, 710.0, 820.0]);
        assert_eq!(missed.rows[0].met, Some(false));
        assert!(missed.table().contains("| 710 k/s [700–820] | **no** |"), "{}", missed.table());
        assert!(missed.counts().contains("| p | 1 | 0 | 0 |"), "{}", missed.counts());
    }

    /// The heading said that they were of as many seeds as the others.
    #[test]
    fn rows_of_fewer_seeds_than_the_most_say_so() {
        let mut found = compared([700.0, 810.0, 820.0]);
        found.rows[1].seeds = 5;
        let table = found.table();
        assert!(table.contains("[lowest–highest of 5 seeds]"), "{table}");
        assert!(table.contains("| 810 k/s [700–820 of 3 seeds] | yes |"), "{table}");
        found.rows[0].seeds = 1;
        assert!(found.table().contains("| 810 k/s | yes |"), "{}", found.table());
    }

    #[test]
    fn what_is_shown_beside_is_not_judged_and_a_missing_seed_is_no_number() {
        let found = compared([801.0; 3]);
        assert_eq!(found.rows[1].met, None);
        assert_eq!(found.rows[2].ours, None);
        assert!(found.counts().contains("| p | 1 | 1 | 0 |"), "{}", found.counts());
    }

    #[test]
    fn what_is_of_short_runs_says_so() {
        let found = compared([801.0; 3]);
        assert!(!found.markdown().contains("Short runs"));
        assert!(Compared { short: true, ..found }.markdown().ends_with("and nothing else.\n"));
    }

    #[test]
    fn what_was_compared_can_be_read_again() {
        let found = compared([801.0, 805.0, 809.0]);
        let text = serde_json::to_string(&found).expect("it is written");
        assert_eq!(serde_json::from_str::<Compared>(&text).expect("it is read"), found);
    }

    #[test]
    fn a_figure_that_was_compared_anew_replaces_its_rows_alone() {
        let of = |number: u32, krps: f64| {
            let mut found = compared([krps; 3]);
            found.rows.iter_mut().for_each(|row| row.figure = number);
            found
        };
        let figures = |found: &Compared| -> Vec<(u32, f64)> {
            let judged = found.rows.iter().filter(|row| row.counted);
            judged.map(|row| (row.figure, row.ours.expect("a number").median)).collect()
        };
        let both = of(12, 700.0).replaced_by(&of(4, 810.0));
        assert_eq!(figures(&both), [(4, 810.0), (12, 700.0)]);
        assert_eq!(figures(&both.replaced_by(&of(12, 820.0))), [(4, 810.0), (12, 820.0)]);
        // As long as rows of short runs are left, they are no result.
        let short = || Compared { short: true, ..of(12, 700.0) };
        assert!(short().replaced_by(&of(4, 810.0)).short);
        assert!(!short().replaced_by(&of(12, 820.0)).short);
    }

    #[test]
    fn numbers_have_three_digits() {
        let shown = [0.0, -0.001, 0.666, 5.7, 17.53, 801.4, 1_580.0].map(number);
        assert_eq!(shown, ["0", "0", "0.67", "5.7", "17.5", "801", "1580"]);
    }
}
