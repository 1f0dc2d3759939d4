//! Numbers of connections to a tier: `scenarios/chain.toml`, and the same with others.

use super::{Variant, head, label, line, variant};
use tailwater_report::percent;
use tailwater_stats::result::{Experiment, Summary};

/// How many `scenarios/chain.toml` has. The others have theirs in their names.
const CONNECTIONS: &str = "4";

/// A line for each number of connections and controller, a column for each demand: goodput of capacity, and drops.
pub(super) fn table(results: &[String]) -> String {
    let parse = |text: &String| serde_json::from_str(text).expect("a result of tailwater run");
    let results: Vec<Experiment> = results.iter().map(parse).collect();
    let mut demands: Vec<f64> = Vec::new();
    for it in results.iter().flat_map(|result| &result.summary) {
        if !demands.contains(&it.demand_ratio) {
            demands.push(it.demand_ratio);
        }
    }
    let mut heads = vec!["connections".to_owned(), "controller".to_owned()];
    heads.extend(demands.iter().map(|demand| format!("{demand:.1} ×")));
    let mut text = head(&heads);
    for result in &results {
        let mut variants: Vec<Variant<'_>> = result.summary.iter().map(variant).collect();
        variants.sort_unstable();
        variants.dedup();
        for of in variants {
            text += &row(result, of, &demands);
        }
    }
    text
}

fn row(result: &Experiment, of: Variant<'_>, demands: &[f64]) -> String {
    let number = result.scenario.rsplit_once("chain-").map_or(CONNECTIONS, |(_, number)| number);
    let mut cells = vec![number.to_owned(), label(of).to_owned()];
    cells.extend(demands.iter().map(|demand| {
        let is_there = |it: &&Summary| variant(it) == of && it.demand_ratio == *demand;
        result.summary.iter().find(is_there).map_or("–".into(), cell)
    }));
    line(&cells)
}

fn cell(summary: &Summary) -> String {
    let median = |name: &str| percent(summary.of[name].median);
    format!("{}; {}", median("goodput_of_capacity"), median("drop_ratio"))
}

#[test]
fn controllers_stand_below_each_other_by_the_connections_of_the_tier() {
    use tailwater_stats::result::Spread;
    let alike = |value| Spread { min: value, median: value, max: value };
    let summary = |(profile, demand_ratio, goodput): &(&str, f64, f64)| Summary {
        controller: "breakwater".into(),
        profile: (*profile).into(),
        demand_ratio: *demand_ratio,
        of: [
            ("goodput_of_capacity".to_owned(), alike(*goodput)),
            ("drop_ratio".into(), alike(0.3)),
        ]
        .into(),
        ..Summary::default()
    };
    let result = |scenario: &str, cells: &[(&str, f64, f64)]| {
        let summary = cells.iter().map(summary).collect();
        let scenario = scenario.to_owned();
        serde_json::to_string(&Experiment { scenario, summary, ..Experiment::default() })
            .expect("JSON")
    };
    let found = table(&[
        result("chain", &[("default", 0.5, 0.49), ("default", 2.0, 0.36)]),
        result("chain-16", &[("default", 0.5, 0.48), ("none kept", 0.5, 0.4)]),
    ]);
    let rows = "| connections | controller | 0.5 × | 2.0 × |\n|---|---|---|---|\n\
                | 4 | breakwater | 49; 30 | 36; 30 |\n\
                | 16 | breakwater | 48; 30 | – |\n\
                | 16 | none kept | 40; 30 | – |\n";
    assert_eq!(found, rows);
}
