//! What the front and the tiers behind it did, where there are tiers.

use crate::columns::range;
use crate::format;
use crate::grid::grid_within;
use crate::model::{Group, Line, Point, spread_of};
use crate::sortable::{Head, Row, Sortable, Value};
use tailwater_stats::result::{HedgeReading, TierReading};

/// What tells rows apart.
const NAMES: [&str; 3] = ["demand", "controller", "tier"];

/// Stands above the table.
pub(crate) const MEANING: &str = "Front and tiers: all nodes of a tier together, medians of the runs that count. The \
    delay is the one that controllers act on, where they know it. Waits are those of threads for a core.";

/// What a column of numbers tells of a tier.
struct Measure {
    head: &'static str,
    meaning: &'static str,
    /// Phones leave it out at first.
    more: bool,
    /// `None` where it is not known.
    of: fn(&TierReading) -> Option<f64>,
    shown: fn(f64) -> String,
}

const MEASURES: [Measure; 8] = [
    Measure {
        head: "received\nk/s",
        meaning: "Requests that it received, thousands per second.",
        more: true,
        of: |reading| reading.received_rps,
        shown: |rps| measured(rps, format::thousands(rps)),
    },
    Measure {
        head: "served\nk/s",
        meaning: "Requests that its handlers answered, thousands per second.",
        more: false,
        of: |reading| reading.served_rps,
        shown: |rps| measured(rps, format::thousands(rps)),
    },
    Measure {
        head: "drops\n%",
        meaning: "Refused, as a share of what it received.",
        more: false,
        of: |reading| reading.drop_ratio,
        shown: format::percent,
    },
    Measure {
        head: "delay\nµs",
        meaning: "The queueing delay that its controllers act on, of the node where it is longest.",
        more: false,
        of: |reading| Some(reading.delay_us),
        shown: |us| measured(us, format::significant(us)),
    },
    Measure {
        head: "cores\nused",
        meaning: "CPU time per second; busy time where it spins.",
        more: true,
        of: |reading| reading.cores_used,
        shown: |cores| format!("{cores:.2}"),
    },
    Measure {
        head: "CPU\nµs/rq",
        meaning: "The same per request that it received.",
        more: true,
        of: |reading| Some(reading.cpu_ns_per_request? / 1e3),
        shown: |us| measured(us, format!("{us:.1}")),
    },
    Measure {
        head: "waits\nµs/rq",
        meaning: "How long its threads waited for a core, per request that it received.",
        more: true,
        of: |reading| {
            let received_rps = reading.received_rps.filter(|rps| *rps > 0.0)?;
            Some(1e6 * reading.run_delay_ratio? / received_rps)
        },
        shown: |us| measured(us, format::significant(us)),
    },
    Measure {
        head: "memory\nMiB",
        meaning: "Resident memory of its process at the end.",
        more: true,
        of: |reading| Some(reading.memory_bytes as f64 / f64::from(1 << 20)),
        shown: |mib| measured(mib, format!("{mib:.1}")),
    },
];

/// Zero is what was not measured: the simulator has no memory, and some controllers know no delay.
fn measured(value: f64, text: String) -> String {
    if value > 0.0 { text } else { format::NOTHING.to_owned() }
}

/// A row for each tier of each controller and demand; nothing where there are no tiers.
pub(crate) fn of_group(group: &Group<'_>, width: Option<u16>) -> Option<String> {
    let rows = rows(group);
    let heads: Vec<&str> = NAMES.into_iter().chain(MEASURES.iter().map(|it| it.head)).collect();
    let texts = |row: Row| row.values.into_iter().map(|value| value.text).collect();
    let texts: Vec<Vec<String>> = rows.into_iter().map(texts).collect();
    let second = second_tries(group);
    let table = || format!("{}\n{second}", grid_within(&heads, NAMES.len(), &texts, width));
    (!texts.is_empty()).then(table)
}

/// The same for a page, where the pointer shows the range behind each median.
pub(crate) fn sortable(group: &Group<'_>) -> Option<Sortable> {
    let rows = rows(group);
    let names = NAMES.into_iter().map(Head::plain);
    let measures = MEASURES.iter().map(|it| Head {
        text: it.head.to_owned(),
        meaning: it.meaning,
        more: it.more,
    });
    let heads = names.chain(measures).collect();
    (!rows.is_empty()).then_some(Sortable { kind: "tiers", heads, rows })
}

fn rows(group: &Group<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for demand in group.demands() {
        for (line, point) in group.at(demand) {
            let count = point.runs.iter().map(|run| run.tiers.len()).max().unwrap_or(0);
            rows.extend((0..count).map(|tier| row(line, point, tier)));
        }
    }
    rows
}

/// A line for each controller and demand whose calls to a tier were tried twice.
pub(crate) fn second_tries(group: &Group<'_>) -> String {
    let mut lines = String::new();
    for demand in group.demands() {
        for (line, point) in group.at(demand) {
            let count = point.runs.iter().map(|run| run.tiers.len()).max().unwrap_or(0);
            lines.extend((0..count).filter_map(|tier| second_try(line, point, tier)));
        }
    }
    lines
}

fn second_try(line: &Line<'_>, point: &Point<'_>, tier: usize) -> Option<String> {
    let readings = || point.runs.iter().filter_map(|run| run.tiers.get(tier));
    let median = |of: fn(&HedgeReading) -> f64| {
        let told = readings().filter_map(|reading| reading.hedges.as_ref());
        Some(spread_of(told.map(of).collect())?.median)
    };
    let (sent, won) = (median(|it| it.sent_per_s)?, median(|it| it.won_per_s)?);
    let over = median(|it| it.over_budget_per_s)?;
    let name = format::printable(&readings().next().map(name).unwrap_or_default());
    let mark = if point.valid == 0 { " !" } else { "" };
    Some(format!(
        "Second tries at {}, {}{mark}, {name}: {sent:.1}/s, {won:.1}/s of them answered first; {over:.1}/s were late beyond \
         the budget.\n",
        format::demand(point.demand),
        format::printable(&line.label)
    ))
}

fn row(line: &Line<'_>, point: &Point<'_>, tier: usize) -> Row {
    let readings: Vec<_> = point.runs.iter().filter_map(|run| run.tiers.get(tier)).collect();
    let mark = if point.valid == 0 { " !" } else { "" };
    let names = [
        format::demand(point.demand),
        format!("{}{mark}", line.label),
        readings.first().map(|reading| name(reading)).unwrap_or_default(),
    ];
    let measures = MEASURES.iter().map(|measure| value(measure, &readings));
    Row { first: tier == 0, values: names.into_iter().map(Value::from).chain(measures).collect() }
}

/// The median over the runs that know it; the range, where there is one.
fn value(measure: &Measure, readings: &[&TierReading]) -> Value {
    let values: Vec<f64> = readings.iter().filter_map(|reading| (measure.of)(reading)).collect();
    let known = values.len();
    let Some(spread) = spread_of(values) else {
        return Value::from(format::NOTHING.to_owned());
    };
    let shown = measure.shown;
    let tip = range(&shown(spread.min), &shown(spread.max), known);
    Value { tip, ..Value::from(shown(spread.median)) }
}

fn name(reading: &TierReading) -> String {
    match (&*reading.tier, reading.nodes) {
        ("", _) => "front".into(),
        (tier, 1) => tier.into(),
        (tier, nodes) => format!("{tier} ({nodes})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::groups;
    use tailwater_stats::result::{AskedRun, Experiment, Run, RunVerdict};

    fn run(repetition: u32, memory_bytes: u64) -> Run {
        let tier = |name: &str, nodes, received_rps| TierReading {
            tier: name.into(),
            nodes,
            received_rps: Some(received_rps),
            served_rps: Some(0.9 * received_rps),
            drop_ratio: Some(0.1),
            delay_us: 42.0,
            cores_used: Some(0.25),
            cpu_ns_per_request: Some(12_500.0),
            run_delay_ratio: Some(0.03),
            memory_bytes,
            ..TierReading::default()
        };
        Run {
            asked: AskedRun {
                controller: "none".into(),
                profile: "default".into(),
                clients: 10,
                slo_us: 400.0,
                repetition,
                demand_ratio: 1.0,
                ..AskedRun::default()
            },
            tiers: vec![tier("", 1, 20_000.0), tier("leaf", 4, 60_000.0)],
            verdict: RunVerdict { valid: true, ..RunVerdict::default() },
            ..Run::default()
        }
    }

    #[test]
    fn each_tier_has_a_row_with_medians_over_repetitions() {
        let runs = vec![run(0, 8 << 20), run(1, 10 << 20)];
        let experiment = Experiment { runs, ..Experiment::default() };
        let text = of_group(&groups(&experiment)[0], None).expect("there are tiers");
        let leaf = text.lines().find(|line| line.contains("leaf (4)")).expect("a row");
        let cells: Vec<&str> = leaf.split_whitespace().rev().take(8).collect();
        assert_eq!(cells, ["9.0", "0.50", "12.5", "0.25", "42.0", "10", "54.0", "60.0"], "{text}");
        assert!(text.contains("front"), "{text}");
    }

    #[test]
    fn a_tier_that_received_nothing_waited_for_no_request() {
        let of = |received_rps| {
            let run_delay_ratio = Some(0.03);
            let reading = TierReading { received_rps, run_delay_ratio, ..TierReading::default() };
            MEASURES.iter().find(|it| it.head.starts_with("waits")).and_then(|it| (it.of)(&reading))
        };
        assert_eq!([Some(0.0), None].map(of), [None; 2]);
        assert!(of(Some(20_000.0)).is_some_and(|us| (us - 1.5).abs() < 1e-9));
    }

    #[test]
    fn second_tries_have_a_line_where_there_were_some() {
        let mut hedged = run(0, 8 << 20);
        let told = HedgeReading { sent_per_s: 12.0, won_per_s: 9.5, over_budget_per_s: 0.0 };
        hedged.tiers[1].hedges = Some(told);
        let experiment = Experiment { runs: vec![hedged], ..Experiment::default() };
        let text = of_group(&groups(&experiment)[0], None).expect("there are tiers");
        let line = text.lines().find(|line| line.starts_with("Second tries")).expect("a line");
        assert!(line.contains("leaf (4): 12.0/s, 9.5/s of them answered first"), "{line}");
        assert_eq!(text.matches("Second tries").count(), 1);
    }

    /// The line stood like any other, and drove the terminal.
    #[test]
    fn second_tries_of_invalid_runs_are_marked_and_names_stay_text() {
        let mut hedged = run(0, 8 << 20);
        hedged.tiers[1].hedges = Some(HedgeReading { sent_per_s: 12.0, ..HedgeReading::default() });
        (hedged.verdict.valid, hedged.asked.profile) = (false, "a\u{1b}[2J".into());
        let experiment = Experiment { runs: vec![hedged], ..Experiment::default() };
        let told = second_tries(&groups(&experiment)[0]);
        assert_eq!(told.lines().count(), 1);
        let begin = "Second tries at 1.0×, none (a\u{fffd}[2J) !, leaf (4): ";
        assert!(told.starts_with(begin), "{told}");
    }

    #[test]
    fn what_was_not_measured_is_a_dash_and_a_single_server_needs_no_table() {
        let mut simulated = run(0, 0);
        let experiment = Experiment { runs: vec![simulated.clone()], ..Experiment::default() };
        let text = of_group(&groups(&experiment)[0], None).expect("there are tiers");
        assert!(text.lines().all(|line| !line.contains("leaf") || line.ends_with('–')), "{text}");
        let unread = TierReading { tier: "leaf".into(), ..TierReading::default() };
        let taken = Run { tiers: vec![simulated.tiers[0].clone(), unread], ..simulated.clone() };
        let experiment = Experiment { runs: vec![taken], ..Experiment::default() };
        let text = of_group(&groups(&experiment)[0], None).expect("there are tiers");
        let leaf = text.lines().find(|line| line.contains("leaf")).expect("a row");
        assert_eq!(leaf.matches('–').count(), MEASURES.len(), "no zero is told: {leaf}");
        simulated.tiers.clear();
        let experiment = Experiment { runs: vec![simulated], ..Experiment::default() };
        assert_eq!(of_group(&groups(&experiment)[0], None), None);
    }

    #[test]
    fn a_page_sorts_them_and_shows_ranges_to_the_pointer() {
        let runs = vec![run(0, 8 << 20), run(1, 10 << 20)];
        let experiment = Experiment { runs, ..Experiment::default() };
        let table = sortable(&groups(&experiment)[0]).expect("there are tiers").markup();
        assert!(table.contains("class=\"sortable tiers\""), "{table}");
        assert!(table.contains("title=\"8.0 to 10.0 in 2 runs\">9.0</td>"), "{table}");
        assert!(table.contains("title=\"the same in 2 runs\">42.0</td>"), "{table}");
        assert!(table.contains(">memory<br/>MiB</th>") && table.contains("all columns"), "{table}");
        assert_eq!(table.matches("<tr class=\"first\">").count(), 1, "a block for each controller");
    }
}
