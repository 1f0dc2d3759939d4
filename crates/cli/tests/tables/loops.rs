//! One pool for several loops, or one for each: `scenarios/loops.toml`, and the same with other numbers of loops.

use super::{head, line};
use tailwater_stats::result::{Experiment, Summary};

/// The controller that is shown.
const CONTROLLER: &str = "breakwater";
/// How many loops `scenarios/loops.toml` has. The others have theirs in their names.
const LOOPS: u32 = 4;

/// A line for each number of loops and kind of pool, a column for clients of each loop: goodput of capacity at each
/// demand.
pub(super) fn table(results: &[String]) -> String {
    let parse = |text: &String| serde_json::from_str(text).expect("a result of tailwater run");
    let results: Vec<Experiment> = results.iter().map(parse).collect();
    let mut heads = vec![String::new()];
    heads.extend(clients_each(&results[0]).iter().map(|clients| format!("c = {clients}")));
    let mut text = head(&heads);
    for shared in [false, true] {
        for result in &results {
            text += &row(result, shared).unwrap_or_default();
        }
    }
    text
}

/// Nothing where no pool is shared, which one loop cannot do.
fn row(result: &Experiment, shared: bool) -> Option<String> {
    let is_meant =
        |it: &&Summary| it.controller == CONTROLLER && it.profile.contains("shared") == shared;
    let meant: Vec<&Summary> = result.summary.iter().filter(is_meant).collect();
    meant.first()?;
    let loops = loops(result);
    let mut cells = vec![match (loops, shared) {
        (1, false) => "one loop".to_owned(),
        (1, true) => return None,
        (_, false) => format!("{loops} loops, a pool for each"),
        (_, true) => format!("{loops} loops, one pool"),
    }];
    for each in clients_each(result) {
        let goodput = |demand: &f64| {
            let is_there =
                |it: &&&Summary| it.clients == each * loops && it.demand_ratio == *demand;
            let found = meant.iter().find(is_there);
            found.map_or("–".into(), |it| {
                format!("{:.1}", 100.0 * it.of["goodput_of_capacity"].median)
            })
        };
        cells.push(demands(result).iter().map(goodput).collect::<Vec<_>>().join(", "));
    }
    Some(line(&cells))
}

fn loops(result: &Experiment) -> u32 {
    let number = result.scenario.rsplit_once("loops-");
    number.map_or(LOOPS, |(_, number)| number.parse().expect("a number of loops"))
}

/// In the order of the file.
fn demands(result: &Experiment) -> Vec<f64> {
    let mut demands: Vec<f64> = Vec::new();
    for it in &result.summary {
        if !demands.contains(&it.demand_ratio) {
            demands.push(it.demand_ratio);
        }
    }
    demands
}

/// Clients of each loop, in the order of the file.
fn clients_each(result: &Experiment) -> Vec<u32> {
    let mut each: Vec<u32> = result.summary.iter().map(|it| it.clients / loops(result)).collect();
    each.dedup();
    each
}

#[test]
fn loops_stand_below_each_other_by_their_clients() {
    use tailwater_stats::result::Spread;
    let result = |scenario: &str, clients, profile: &str, goodputs: [(f64, f64); 2]| {
        let summary = |(demand_ratio, median)| Summary {
            controller: CONTROLLER.into(),
            profile: profile.into(),
            clients,
            demand_ratio,
            of: [("goodput_of_capacity".to_owned(), Spread { min: 0.0, median, max: 1.0 })].into(),
            ..Summary::default()
        };
        let (scenario, summary) = (scenario.to_owned(), goodputs.map(summary).into());
        serde_json::to_string(&Experiment { scenario, summary, ..Experiment::default() })
            .expect("JSON")
    };
    let found = table(&[
        result("loops-1", 25, "default", [(1.0, 0.915), (2.0, 0.995)]),
        result("loops-1", 25, "default [pools = \"shared\"]", [(1.0, 0.9), (2.0, 0.9)]),
        result("loops", 100, "default [pools = \"shared\"]", [(1.0, 0.5), (2.0, 0.41)]),
    ]);
    let rows = "| one loop | 91.5, 99.5 |\n| 4 loops, one pool | 50.0, 41.0 |\n";
    assert!(found.ends_with(rows), "{found}");
}
