//! The few columns that a first look needs, in 80 characters.

use crate::format::{self, ColumnUnit, NOTHING, printable, wrap};
use crate::grid::grid_within;
use crate::model::{self, Group, Line, Point};
use crate::notes::{NO_VALID, has_unsound};
use crate::quantity::Quantity;
use crate::sentences::line_summary;
use crate::table::TableStyle;
use tailwater_stats::result::Experiment;

/// Where nothing is known of the reader's terminal.
const WIDTH: u16 = 80;

/// How much of its capacity each controller kept in time at each load, what the tail was, and what was refused;
/// then the sentences of [`line_summary`]. For experiments with few controllers; [`table`](crate::table()) shows
/// everything.
#[must_use]
pub fn brief(experiment: &Experiment, style: TableStyle) -> String {
    let width = style.width.unwrap_or(WIDTH).into();
    let mut out = String::new();
    if !experiment.title.is_empty() {
        out.push_str(&format!("{}\n\n", wrap(&printable(&experiment.title), width)));
    }
    for group in model::groups(experiment) {
        let capacity = format::thousands(group.capacity_rps);
        let name = format!("{} (capacity {capacity} k requests/s)", group.name());
        out.push_str(&format!("{}\n{}\n", wrap(&name, width), grid_of(&group, style.width)));
        if has_unsound(&group) {
            out.push_str(&format!("{}\n", wrap(NO_VALID, width)));
        }
        out.push('\n');
    }
    out.push_str(&wrap(&line_summary(experiment), width));
    out
}

fn grid_of(group: &Group<'_>, width: Option<u16>) -> String {
    let unit = ColumnUnit::of(group.slo_us);
    let p99 = format!("p99 of\nanswers, {}", unit.name());
    let heads = [
        "load",
        "controller",
        "in time,\n% of capacity",
        &p99,
        "refused by\nserver, %",
        "runs that\ncount",
    ];
    grid_within(&heads, 2, &rows(group, unit), Some(width.unwrap_or(WIDTH)))
}

/// The load stands in the first line of each only.
fn rows(group: &Group<'_>, unit: ColumnUnit) -> Vec<Vec<String>> {
    let at = |demand: f64| {
        group.at(demand).enumerate().map(move |(nth, (line, point))| {
            let load = if nth == 0 { format::demand(demand) } else { String::new() };
            row(load, line, point, unit)
        })
    };
    group.demands().into_iter().flat_map(at).collect()
}

fn row(load: String, line: &Line<'_>, point: &Point<'_>, unit: ColumnUnit) -> Vec<String> {
    let shown = |quantity, show: &dyn Fn(f64) -> String| {
        point.median(quantity).map_or_else(|| NOTHING.to_owned(), show)
    };
    let mark = if point.valid == 0 { " !" } else { "" };
    // Said of each controller it told nothing, and put the mark on a line of its own.
    let name = line.label.strip_suffix(" (default)").unwrap_or(&line.label);
    vec![
        load,
        format!("{name}{mark}"),
        shown(Quantity::OfCapacity, &format::percent),
        shown(Quantity::P99, &|us| unit.show(us)),
        shown(Quantity::Drop, &format::percent),
        format!("{}/{}", point.valid, point.total),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_stats::result::{
        AskedRun, LatencyReading, Rates, RefusalReading, Run, RunVerdict, Yardstick,
    };

    fn run(controller: &str, demand_ratio: f64, valid: bool) -> Run {
        Run {
            asked: AskedRun {
                controller: controller.into(),
                profile: "default".into(),
                clients: 100,
                slo_us: 400.0,
                demand_ratio,
                ..AskedRun::default()
            },
            verdict: RunVerdict { valid, ..RunVerdict::default() },
            yardstick: Yardstick { capacity_rps: 43_000.0, ..Yardstick::default() },
            rates: Rates { goodput_rps: 40_850.0, goodput_of_capacity: 0.95, ..Rates::default() },
            latency: LatencyReading { p99_us: 377.2, ..LatencyReading::default() },
            refusals: RefusalReading { drop_ratio: 0.014, ..RefusalReading::default() },
            ..Run::default()
        }
    }

    #[test]
    fn few_columns_fit_a_narrow_terminal_and_mark_what_is_no_result() {
        let mut runs = vec![
            run("none", 0.5, true),
            run("breakwater", 0.5, true),
            run("none", 2.0, false),
            run("breakwater", 2.0, true),
        ];
        runs[2].latency.p99_us = 1.2e6;
        let title = "A server asked for up to twice its capacity".to_owned();
        let experiment = Experiment { title, runs, ..Experiment::default() };
        let text = brief(&experiment, TableStyle::default());
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let row = |start: &str| text.lines().find(|line| line.starts_with(start)).expect(start);
        let cells = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(cells(row("2.0×")), ["2.0×", "none", "!", "95", "1200000", "1.4", "0/1"]);
        assert!(!row("0.5×").contains('!'));
        assert_eq!(text.matches("answers, µs").count(), 1, "a unit for the column: {text}");
        assert_eq!(cells(row("0.5×"))[3], "377");
        assert!(text.contains("! no valid repetition"), "{text}");
        assert!(text.contains("100 clients, SLO 400 µs (capacity 43.0 k requests/s)"), "{text}");
    }
}
