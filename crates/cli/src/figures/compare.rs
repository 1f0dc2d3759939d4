//! Ours beside theirs, number by number.

use super::figure::{Agree, Claim, Figure};
use super::results::Results;
use serde::Serialize;
use std::fmt::Write as _;

/// Every number of the chosen figures.
#[derive(Serialize)]
pub(crate) struct Compared {
    pub(crate) rows: Vec<Row>,
}

/// One number of the text beside one of ours.
#[derive(Serialize)]
pub(crate) struct Row {
    paper: &'static str,
    figure: u32,
    /// Whose number ours is: the label of a controller.
    subject: String,
    what: &'static str,
    place: &'static str,
    unit: &'static str,
    theirs: f64,
    /// When ours counts as the same.
    asked: String,
    ours: Option<f64>,
    /// Nothing where we have no number.
    reproduced: Option<bool>,
}

/// Asks every claim of every subject.
pub(super) fn compare(figures: &[&Figure], results: &Results) -> Compared {
    let mut rows = Vec::new();
    for figure in figures {
        for claim in figure.claims {
            rows.extend(claim.subjects.iter().map(|subject| row(figure, claim, subject, results)));
        }
    }
    Compared { rows }
}

fn row(figure: &Figure, claim: &Claim, subject: &str, results: &Results) -> Row {
    let ours = (claim.ours)(results, subject).filter(|ours| ours.is_finite());
    Row {
        paper: figure.paper,
        figure: figure.number,
        subject: subject.into(),
        what: claim.what,
        place: claim.place,
        unit: claim.unit,
        theirs: claim.theirs,
        asked: asked(claim),
        ours,
        reproduced: ours.map(|ours| agrees(claim.agree, claim.theirs, ours)),
    }
}

fn agrees(agree: Agree, theirs: f64, ours: f64) -> bool {
    match agree {
        Agree::AtLeast => ours >= theirs,
        Agree::AtMost => ours <= theirs,
        Agree::Within(most) => (ours - theirs).abs() <= most,
        Agree::Factor(factor) => {
            let ratio = ours / theirs;
            (1.0 / factor..=factor).contains(&ratio)
        }
    }
}

fn asked(claim: &Claim) -> String {
    match claim.agree {
        Agree::AtLeast => "at least that".into(),
        Agree::AtMost => "at most that".into(),
        Agree::Within(most) => format!("± {}", number(most)),
        Agree::Factor(factor) => format!("within a factor of {}", number(factor)),
    }
}

/// A table for `docs/figures.md` and for the terminal.
pub(super) fn markdown(compared: &Compared) -> String {
    let mut text = String::from(
        "| figure | number in the text | of | theirs | asked | ours | reproduced |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for row in &compared.rows {
        let ours = row.ours.map_or("–".into(), |ours| with_unit(ours, row.unit));
        let verdict = match row.reproduced {
            Some(true) => "yes",
            Some(false) => "**no**",
            None => "no number",
        };
        let _ = writeln!(
            text,
            "| {} {} | {} ({}) | {} | {} | {} | {ours} | {verdict} |",
            row.paper,
            row.figure,
            row.what,
            row.place,
            row.subject,
            with_unit(row.theirs, row.unit),
            row.asked,
        );
    }
    let yes = compared.rows.iter().filter(|row| row.reproduced == Some(true)).count();
    let _ = writeln!(text, "\n{yes} of {} numbers reproduced.", compared.rows.len());
    text
}

fn with_unit(value: f64, unit: &str) -> String {
    format!("{} {unit}", number(value))
}

/// Three digits, and no more decimals than two.
fn number(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 100.0 || size == 0.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    };
    let text = format!("{value:.decimals$}");
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agreement_is_as_asked() {
        assert!(agrees(Agree::AtLeast, 94.0, 94.0) && !agrees(Agree::AtLeast, 94.0, 93.9));
        assert!(agrees(Agree::AtMost, 20.0, 5.0) && !agrees(Agree::AtMost, 20.0, 21.0));
        assert!(agrees(Agree::Within(3.0), 5.7, 8.6) && !agrees(Agree::Within(3.0), 5.7, 2.6));
        assert!(agrees(Agree::Factor(2.0), 500.0, 251.0) && !agrees(Agree::Factor(2.0), 5.7, -5.7));
    }

    #[test]
    fn numbers_have_three_digits() {
        let shown = [0.0, 0.666, 5.7, 17.53, 801.4, 1_580.0].map(number);
        assert_eq!(shown, ["0", "0.67", "5.7", "17.5", "801", "1580"]);
    }
}
