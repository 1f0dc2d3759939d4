//! What the front and the tiers behind it did, where there are tiers.

use crate::format;
use crate::grid::grid_within;
use crate::model::{Group, Line, Point, spread_of};
use tailwater_stats::result::{HedgeReading, TierReading};

const HEADS: [&str; 10] = [
    "demand",
    "controller",
    "tier",
    "received k/s",
    "served k/s",
    "drops %",
    "delay µs",
    "cores used",
    "CPU µs/rq",
    "memory MiB",
];

/// Stands above the table.
pub(crate) const MEANING: &str = "Front and tiers: all nodes of a tier together, medians of the runs that count. The \
    delay is the one that controllers act on, where they know it.";

/// A row for each tier of each controller and demand; nothing where there are no tiers.
pub(crate) fn of_group(group: &Group<'_>, width: Option<u16>) -> Option<String> {
    let mut rows = Vec::new();
    for demand in group.demands() {
        for (line, point) in group.at(demand) {
            let count = point.runs.iter().map(|run| run.tiers.len()).max().unwrap_or(0);
            rows.extend((0..count).map(|tier| row(line, point, tier)));
        }
    }
    let second = second_tries(group);
    (!rows.is_empty()).then(|| format!("{}\n{second}", grid_within(&HEADS, 3, &rows, width)))
}

/// A line for each controller and demand whose calls to a tier were tried twice.
fn second_tries(group: &Group<'_>) -> String {
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
    let name = readings().next().map(name).unwrap_or_default();
    Some(format!(
        "Second tries at {}, {}, {name}: {sent:.1}/s, {won:.1}/s of them answered first; {over:.1}/s were late beyond \
         the budget.\n",
        format::demand(point.demand),
        line.label
    ))
}

fn row(line: &Line<'_>, point: &Point<'_>, tier: usize) -> Vec<String> {
    let readings = || point.runs.iter().filter_map(|run| run.tiers.get(tier));
    let median = |of: fn(&TierReading) -> f64| {
        spread_of(readings().map(of).collect()).map_or(f64::NAN, |spread| spread.median)
    };
    // Zero is what was not measured: the simulator has no memory, and some controllers know no delay.
    let known = |value: f64, text: String| if value > 0.0 { text } else { "–".to_owned() };
    let delay_us = median(|reading| reading.delay_us);
    let memory = median(|reading| reading.memory_bytes as f64) / f64::from(1 << 20);
    let cpu_us = median(|reading| reading.cpu_ns_per_request) / 1e3;
    vec![
        format::demand(point.demand),
        if point.valid == 0 { format!("{} !", line.label) } else { line.label.clone() },
        readings().next().map(name).unwrap_or_default(),
        format::thousands(median(|reading| reading.received_rps)),
        format::thousands(median(|reading| reading.served_rps)),
        format::percent(median(|reading| reading.drop_ratio)),
        known(delay_us, format!("{delay_us:.1}")),
        format!("{:.2}", median(|reading| reading.cores_used)),
        known(cpu_us, format!("{cpu_us:.1}")),
        known(memory, format!("{memory:.1}")),
    ]
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
    use tailwater_stats::result::{Experiment, Run};

    fn run(repetition: u32, memory_bytes: u64) -> Run {
        let tier = |name: &str, nodes, received_rps| TierReading {
            tier: name.into(),
            nodes,
            received_rps,
            served_rps: 0.9 * received_rps,
            drop_ratio: 0.1,
            delay_us: 42.0,
            cores_used: 0.25,
            cpu_ns_per_request: 12_500.0,
            memory_bytes,
            ..TierReading::default()
        };
        Run {
            controller: "none".into(),
            profile: "default".into(),
            clients: 10,
            slo_us: 400.0,
            repetition,
            demand_ratio: 1.0,
            tiers: vec![tier("", 1, 20_000.0), tier("leaf", 4, 60_000.0)],
            valid: true,
            ..Run::default()
        }
    }

    #[test]
    fn each_tier_has_a_row_with_medians_over_repetitions() {
        let runs = vec![run(0, 8 << 20), run(1, 10 << 20)];
        let experiment = Experiment { runs, ..Experiment::default() };
        let text = of_group(&groups(&experiment)[0], None).expect("there are tiers");
        let leaf = text.lines().find(|line| line.contains("leaf (4)")).expect("a row");
        let cells: Vec<&str> = leaf.split_whitespace().rev().take(7).collect();
        assert_eq!(cells, ["9.0", "12.5", "0.25", "42.0", "10", "54.0", "60.0"], "{text}");
        assert!(text.contains("front"), "{text}");
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

    #[test]
    fn what_was_not_measured_is_a_dash_and_a_single_server_needs_no_table() {
        let mut simulated = run(0, 0);
        let experiment = Experiment { runs: vec![simulated.clone()], ..Experiment::default() };
        let text = of_group(&groups(&experiment)[0], None).expect("there are tiers");
        assert!(text.lines().all(|line| !line.contains("leaf") || line.ends_with('–')), "{text}");
        simulated.tiers.clear();
        let experiment = Experiment { runs: vec![simulated], ..Experiment::default() };
        assert_eq!(of_group(&groups(&experiment)[0], None), None);
    }
}
