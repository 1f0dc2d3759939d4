//! Two results held against each other, as tables and a sentence.

use crate::format::{NOTHING, demand, percent, time, wrap};
use crate::grid::grid_within;
use tailwater_stats::agreement::{Agreement, KEEPS_UP, Onset, PairedPoint};
use tailwater_stats::result::Experiment;

/// Differences beyond this many points of capacity are marked, and rankings that hang on less are equal.
pub const TOLERANCE_POINTS: f64 = 5.0;

/// Headings and rows, of which the first column is text.
pub(crate) struct Rows {
    pub(crate) heads: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<String>>,
}

/// Everything that a person reads of a comparison, in lines of at most `width` characters where words allow it.
#[must_use]
pub fn comparison_table(
    (first, second): (&Experiment, &Experiment),
    found: &Agreement,
    width: Option<u16>,
) -> String {
    let within = |text: String| width.map_or(text.clone(), |width| wrap(&text, width.into()));
    let grid = |table: Rows| grid_within(&table.heads, 1, &table.rows, width);
    format!(
        "first: {}\nsecond: {}\n{}\n\n{}\n\n{}\n\n{}",
        title(first),
        title(second),
        within(meaning()),
        grid(points(found)),
        grid(onsets(found)),
        within(sentence(found)),
    )
}

pub(crate) fn meaning() -> String {
    format!(
        "Goodput is in % of capacity, its difference in points of that; ! beyond {TOLERANCE_POINTS}."
    )
}

/// Which result it is.
pub(crate) fn title(of: &Experiment) -> String {
    format!("{} on {} ({})", of.scenario, of.driver, of.manifest.tailwater)
}

pub(crate) fn points(found: &Agreement) -> Rows {
    let heads = vec![
        "controller",
        "clients",
        "SLO",
        "demand",
        "goodput\nfirst",
        "\nsecond",
        "\npoints",
        "p99\nfirst",
        "\nsecond",
    ];
    let row = |point: &PairedPoint| {
        let (one, two) = point.goodput_of_capacity;
        let difference = point.difference();
        let mark = if difference.abs() > TOLERANCE_POINTS { " !" } else { "" };
        vec![
            format!("{} ({})", point.controller, point.profile),
            point.clients.to_string(),
            time(point.slo_us),
            demand(point.demand_ratio),
            percent(one),
            percent(two),
            format!("{difference:+.1}{mark}"),
            latency(point.p99_us.0),
            latency(point.p99_us.1),
        ]
    };
    Rows { heads, rows: found.points.iter().map(row).collect() }
}

/// Nothing was answered where it is zero.
fn latency(us: f64) -> String {
    if us > 0.0 { time(us) } else { NOTHING.to_owned() }
}

pub(crate) fn onsets(found: &Agreement) -> Rows {
    let at = |ratio: Option<f64>| ratio.map_or("never".into(), demand);
    let row = |onset: &Onset| {
        let (one, two) = onset.demand_ratio;
        vec![
            format!("{} ({})", onset.controller, onset.profile),
            onset.clients.to_string(),
            time(onset.slo_us),
            at(one),
            at(two),
        ]
    };
    let heads = vec!["falls behind at", "clients", "SLO", "first", "second"];
    Rows { heads, rows: found.onsets.iter().map(row).collect() }
}

pub(crate) fn sentence(found: &Agreement) -> String {
    let is_near = |point: &&PairedPoint| point.difference().abs() <= TOLERANCE_POINTS;
    let near = found.points.iter().filter(is_near).count();
    let (alike, all) = found.ranked_alike;
    let same_onset = |onset: &&Onset| match onset.demand_ratio {
        (Some(one), Some(two)) => (one - two).abs() <= 0.1 * one.min(two),
        (None, None) => true,
        _ => false,
    };
    let onsets = found.onsets.iter().filter(same_onset).count();
    format!(
        "Goodput agrees within {TOLERANCE_POINTS} points of capacity in {near} of {} configurations, the order \
         of the controllers at {alike} of {all} demands, and where they fall below {} % of what could \
         be served within 10 % for {onsets} of {}. {} configurations have no valid run in one of the two.",
        found.points.len(),
        percent(KEEPS_UP),
        found.onsets.len(),
        found.unmatched,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It was shown as a 99th percentile of 0 µs, and 0.85 × as 0.8 ×.
    #[test]
    fn what_answered_nothing_has_no_percentile_and_demands_keep_their_digits() {
        let point = PairedPoint {
            controller: "none".into(),
            profile: "default".into(),
            clients: 100,
            slo_us: 400.0,
            demand_ratio: 0.85,
            goodput_of_capacity: (0.0, 0.84),
            p99_us: (0.0, 213.0),
        };
        let found = Agreement { points: vec![point], ..Agreement::default() };
        let nothing = Experiment::default();
        let text = comparison_table((&nothing, &nothing), &found, None);
        let row = text.lines().find(|line| line.contains("none (default)")).expect("a row");
        let cells: Vec<&str> = row.split_whitespace().collect();
        let expected = ["0.85×", "0", "84", "+84.0", "!", "–", "213", "µs"];
        assert_eq!(cells[cells.len() - expected.len()..], expected, "{text}");
        assert!(text.contains("Goodput is in % of capacity"), "{text}");
    }
}
