//! What became of each class of requests, where the scenario has several.

use crate::format;
use crate::grid::grid_within;
use crate::model::{Group, Line, Point, spread_of};
use crate::sortable::{Head, Row, Sortable, Value};
use tailwater_stats::result::{ClassReading, Run};

const HEADS: [&str; 7] = [
    "demand",
    "controller",
    "class",
    "offered\nk/s",
    "in time\nk/s",
    "share\n%",
    "least in a\nsecond %",
];

/// Stands above the table of a page.
pub(crate) const MEANING: &str =
    "Requests by method: medians of the runs that count, and the worst second of them all.";

/// A table and a sentence for each demand; nothing where all requests call one method.
pub(crate) fn of_group(group: &Group<'_>, width: Option<u16>) -> Option<String> {
    let texts: Vec<Vec<String>> = rows(group).into_iter().map(|(_, texts)| texts).collect();
    let bounds: String = bounds(group).iter().map(|bound| format!("{bound}\n")).collect();
    let table = || format!("{}\n{bounds}", grid_within(&HEADS, 3, &texts, width));
    (!texts.is_empty()).then(table)
}

/// The same table for a page, without the sentences.
pub(crate) fn sortable(group: &Group<'_>) -> Option<Sortable> {
    let row = |(first, texts): (bool, Vec<String>)| {
        let values = texts.into_iter().map(Value::from).collect();
        Row { first, values }
    };
    let rows: Vec<Row> = rows(group).into_iter().map(row).collect();
    let heads = HEADS.map(Head::plain).into();
    (!rows.is_empty()).then_some(Sortable { kind: "classes", heads, rows })
}

/// What no controller can beat, in a sentence for each demand where classes matter.
pub(crate) fn bounds(group: &Group<'_>) -> Vec<String> {
    let of = |demand: f64| group.at(demand).find_map(|(_, point)| known(point)).map(bound);
    group.demands().into_iter().filter_map(of).collect()
}

/// Each row, and whether it is the first of its controller and demand.
fn rows(group: &Group<'_>) -> Vec<(bool, Vec<String>)> {
    let mut rows = Vec::new();
    for demand in group.demands() {
        for (line, point) in group.at(demand) {
            rows.extend(rows_of(line, point).into_iter().enumerate().map(|(at, it)| (at == 0, it)));
        }
    }
    rows
}

fn rows_of(line: &Line<'_>, point: &Point<'_>) -> Vec<Vec<String>> {
    let count = point.runs.iter().map(|run| run.classes.len()).max().unwrap_or(0);
    if count < 2 {
        return Vec::new();
    }
    (0..count).map(|class| row(line, point, class)).collect()
}

/// Medians over the runs that count, and the worst second of them all.
fn row(line: &Line<'_>, point: &Point<'_>, class: usize) -> Vec<String> {
    let readings = || point.runs.iter().filter_map(|run| run.classes.get(class));
    let median = |of: fn(&ClassReading) -> f64| {
        spread_of(readings().map(of).collect()).map_or(f64::NAN, |spread| spread.median)
    };
    let least = readings().map(|reading| reading.least_share).fold(1.0, f64::min);
    vec![
        format::demand(point.demand),
        if point.valid == 0 { format!("{} !", line.label) } else { line.label.clone() },
        readings().next().map(|reading| reading.class.clone()).unwrap_or_default(),
        format::thousands(median(|reading| reading.offered_rps)),
        format::thousands(median(|reading| reading.goodput_rps)),
        format::percent(median(|reading| reading.share)),
        format::percent(least),
    ]
}

fn known<'a>(point: &Point<'a>) -> Option<&'a Run> {
    point
        .runs
        .iter()
        .copied()
        .find(|run| run.known_bound_rps > 0.0 && run.yardstick.bound_rps > 0.0)
}

fn bound(run: &Run) -> String {
    format!(
        "At {} the bound is {} k/s for costs unknown and {} k/s ({} %) for costs known.",
        format::demand(run.asked.demand_ratio),
        format::thousands(run.yardstick.bound_rps),
        format::thousands(run.known_bound_rps),
        format::percent(run.known_bound_rps / run.yardstick.bound_rps),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::groups;
    use tailwater_stats::result::{AskedRun, Experiment, RunVerdict, Yardstick};

    fn run(repetition: u32, least_share: f64) -> Run {
        let class = |name: &str, share| ClassReading {
            class: name.into(),
            offered_rps: 10_000.0,
            goodput_rps: 10_000.0 * share,
            share,
            least_share,
        };
        Run {
            asked: AskedRun {
                controller: "breakwater".into(),
                profile: "by class".into(),
                clients: 100,
                slo_us: 400.0,
                repetition,
                demand_ratio: 2.0,
                ..AskedRun::default()
            },
            yardstick: Yardstick { bound_rps: 9_500.0, ..Yardstick::default() },
            known_bound_rps: 16_200.0,
            classes: vec![class("short", 0.95), class("long", 0.4)],
            verdict: RunVerdict { valid: true, ..RunVerdict::default() },
            ..Run::default()
        }
    }

    #[test]
    fn each_class_has_a_row_with_its_worst_second_of_all_repetitions() {
        let runs = vec![run(0, 0.39), run(1, 0.36)];
        let experiment = Experiment { runs, ..Experiment::default() };
        let text = of_group(&groups(&experiment)[0], None).expect("there are two classes");
        let long = text.lines().find(|line| line.contains("long")).expect("a row");
        assert!(long.contains("40") && long.trim_end().ends_with("36"), "{text}");
        assert!(text.contains("16.2 k/s (171 %) for costs known"), "{text}");
    }

    #[test]
    fn one_class_needs_no_table() {
        let mut single = run(0, 0.5);
        single.classes.truncate(1);
        let experiment = Experiment { runs: vec![single], ..Experiment::default() };
        assert_eq!(of_group(&groups(&experiment)[0], None), None);
    }

    #[test]
    fn a_page_has_the_same_rows_and_sorts_them() {
        let experiment = Experiment { runs: vec![run(0, 0.39)], ..Experiment::default() };
        let groups = groups(&experiment);
        let table = sortable(&groups[0]).expect("there are two classes").markup();
        assert!(table.contains("class=\"sortable classes\""), "{table}");
        assert!(
            table.contains("<td>long</td><td>10.0</td><td>4.00</td><td>40</td><td>39</td>"),
            "{table}"
        );
        assert_eq!(bounds(&groups[0]).len(), 1);
    }
}
