//! How requests waited at named locks, where there are such.

use crate::format::{self, ColumnUnit, NOTHING};
use crate::grid::grid_within;
use crate::model::{Group, Line, Point, spread_of};
use crate::sortable::{Head, Row, Sortable, Value};
use std::collections::BTreeMap;
use tailwater_stats::result::{LockReading, Run};

/// Stands above the table.
pub(crate) const MEANING: &str = "Waits at all named locks together: medians of what the runs that count have each, and the \
    longest wait of them all. The lock is named at which most was waited in all of these runs. Counts are of the measured window \
    over sockets, and of the whole run in simulation. The longest wait over sockets is since the server started.";

/// What stands flush left.
const NAMES: [&str; 3] = ["demand", "controller", "most\nwaited for"];

/// Headings, and the rows with whether each is the first of its demand.
struct Table {
    heads: Vec<String>,
    rows: Vec<(bool, Vec<String>)>,
}

/// What one controller's requests waited for at one demand.
struct Waits {
    names: [String; 3],
    /// Waits, refusals on entry, and waits that were given up.
    counts: [String; 3],
    mean_us: f64,
    longest_us: f64,
}

/// A row for each controller and demand; nothing where no run tells of locks.
pub(crate) fn of_group(group: &Group<'_>, width: Option<u16>) -> Option<String> {
    let Table { heads, rows } = table(group)?;
    let rows: Vec<Vec<String>> = rows.into_iter().map(|(_, texts)| texts).collect();
    Some(grid_within(&heads, NAMES.len(), &rows, width))
}

/// The same table for a page.
pub(crate) fn sortable(group: &Group<'_>) -> Option<Sortable> {
    let Table { heads, rows } = table(group)?;
    let row = |(first, texts): (bool, Vec<String>)| {
        let values = texts.into_iter().map(Value::from).collect();
        Row { first, values }
    };
    let heads = heads.iter().map(|head| Head::plain(head)).collect();
    Some(Sortable { kind: "locks", heads, rows: rows.into_iter().map(row).collect() })
}

fn table(group: &Group<'_>) -> Option<Table> {
    let mut found: Vec<(bool, Waits)> = Vec::new();
    for demand in group.demands() {
        let of_demand = group.at(demand).filter_map(|(line, point)| waits(line, point));
        found.extend(of_demand.enumerate().map(|(nth, waits)| (nth == 0, waits)));
    }
    let mean = ColumnUnit::of_largest(found.iter().map(|(_, waits)| waits.mean_us));
    let longest = ColumnUnit::of_largest(found.iter().map(|(_, waits)| waits.longest_us));
    let counts = ["waits", "refused", "gave\nup"];
    let times = [format!("mean\nwait {}", mean.name()), format!("longest\n{}", longest.name())];
    let heads = NAMES.into_iter().chain(counts).map(str::to_owned).chain(times).collect();
    let row = |(first, waits): (bool, Waits)| {
        let times = [mean.show(waits.mean_us), longest.show(waits.longest_us)];
        (first, waits.names.into_iter().chain(waits.counts).chain(times).collect())
    };
    let rows: Vec<(bool, Vec<String>)> = found.into_iter().map(row).collect();
    (!rows.is_empty()).then_some(Table { heads, rows })
}

fn waits(line: &Line<'_>, point: &Point<'_>) -> Option<Waits> {
    let runs: Vec<&Run> = point.runs.iter().copied().filter(|run| !run.locks.is_empty()).collect();
    let median = |of: &dyn Fn(&Run) -> f64| {
        let values: Vec<f64> = runs.iter().copied().map(of).collect();
        spread_of(values).map(|spread| spread.median)
    };
    let mean_us = median(&|run| {
        sum(run, |lock| lock.waited_us) / sum(run, |lock| lock.contended as f64).max(1.0)
    })?;
    let count = |of: fn(&LockReading) -> f64| {
        let middle = median(&|run| sum(run, of)).unwrap_or(0.0);
        format::count(middle.round() as u64)
    };
    let all = || runs.iter().flat_map(|run| &run.locks);
    let label = if point.valid == 0 { format!("{} !", line.label) } else { line.label.clone() };
    Some(Waits {
        names: [format::demand(point.demand), label, most_waited(all())],
        counts: [
            count(|lock| lock.contended as f64),
            count(|lock| lock.refused as f64),
            count(|lock| lock.gave_up as f64),
        ],
        mean_us,
        longest_us: all().map(|lock| lock.longest_wait_us).fold(0.0, f64::max),
    })
}

fn sum(run: &Run, of: fn(&LockReading) -> f64) -> f64 {
    run.locks.iter().map(of).sum()
}

/// Its name, behind that of its tier where it has one.
fn most_waited<'a>(readings: impl Iterator<Item = &'a LockReading>) -> String {
    let mut waited_us: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    for reading in readings {
        let whose = (reading.tier.as_str(), reading.lock.as_str());
        *waited_us.entry(whose).or_default() += reading.waited_us;
    }
    let waited = waited_us.into_iter().filter(|(_, us)| *us > 0.0);
    match waited.max_by(|one, other| one.1.total_cmp(&other.1)) {
        None => NOTHING.to_owned(),
        Some((("", lock), _)) => lock.to_owned(),
        Some(((tier, lock), _)) => format!("{tier}: {lock}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::groups;
    use tailwater_stats::result::{AskedRun, Experiment, RunVerdict};

    fn run(repetition: u32, contended: u64) -> Run {
        let slabs = LockReading {
            lock: "slabs".into(),
            contended,
            refused: 2,
            gave_up: 1,
            waited_us: 5_000.0,
            longest_wait_us: 400.0,
            ..LockReading::default()
        };
        let index = LockReading {
            tier: "leaf".into(),
            lock: "index".into(),
            contended: 20,
            waited_us: 30_000.0,
            longest_wait_us: 9_000.0 + f64::from(repetition),
            ..LockReading::default()
        };
        Run {
            asked: AskedRun {
                controller: "breakwater".into(),
                profile: "default".into(),
                clients: 100,
                slo_us: 400.0,
                repetition,
                demand_ratio: 2.0,
                ..AskedRun::default()
            },
            locks: vec![slabs, index],
            verdict: RunVerdict { valid: true, ..RunVerdict::default() },
            ..Run::default()
        }
    }

    fn experiment() -> Experiment {
        Experiment { runs: vec![run(0, 100), run(1, 300)], ..Experiment::default() }
    }

    /// Locks were in the JSON alone.
    #[test]
    fn each_controller_and_demand_has_a_row_in_80_columns() {
        let mut experiment = experiment();
        let text = of_group(&groups(&experiment)[0], Some(80)).expect("there are locks");
        let row = text.lines().skip_while(|line| !line.contains("breakwater"));
        let cells: Vec<&str> = row.take(2).flat_map(str::split_whitespace).collect();
        let needed =
            ["2.0×", "breakwater", "leaf:", "index", "220", "2", "1", "201", "9001", "(default)"];
        assert_eq!(cells, needed, "{text}");
        for run in &mut experiment.runs {
            run.asked.profile = "with a long label ".repeat(4);
            run.locks[1].lock = "a lock of a long name ".repeat(3);
        }
        let text = of_group(&groups(&experiment)[0], Some(80)).expect("there are locks");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn locks_that_nothing_waited_for_have_no_name_and_none_have_no_table() {
        let mut experiment = experiment();
        for lock in experiment.runs.iter_mut().flat_map(|run| &mut run.locks) {
            lock.waited_us = 0.0;
        }
        let page = sortable(&groups(&experiment)[0]).expect("there are locks").markup();
        assert!(page.contains("class=\"sortable locks\""), "{page}");
        assert!(page.contains("<td>breakwater (default)</td><td>–</td>"), "{page}");
        for run in &mut experiment.runs {
            run.locks.clear();
        }
        assert_eq!(of_group(&groups(&experiment)[0], None), None);
    }
}
