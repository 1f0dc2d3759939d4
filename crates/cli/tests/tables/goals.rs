//! What Breakwater keeps from its capacity on, in the terms of the goals.

use super::{head, line};
use tailwater_report::{percent, time};
use tailwater_stats::result::{Experiment, Summary};

/// Goals are of this controller, at this demand and above.
const CONTROLLER: &str = "breakwater";
const FROM: f64 = 1.0;

/// A line for each objective and number of clients, the looser objective first: goodput of the bound at each demand and
/// on average, the longest p99, and between what the drops are. All are medians of the valid repetitions.
pub(super) fn table(result: &str) -> String {
    let result: Experiment = serde_json::from_str(result).expect("a result of tailwater run");
    let is_meant = |it: &&Summary| it.controller == CONTROLLER && it.demand_ratio >= FROM;
    let meant: Vec<&Summary> = result.summary.iter().filter(is_meant).collect();
    let mut groups: Vec<(f64, u32)> = meant.iter().map(|it| (it.slo_us, it.clients)).collect();
    groups.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    groups.dedup();
    let heads = ["clients, SLO", "of the bound, %", "on average", "p99 at most", "drops, %"];
    let mut text = head(&heads.map(Into::into));
    for (slo_us, clients) in groups {
        let group: Vec<&Summary> = meant
            .iter()
            .copied()
            .filter(|it| (it.slo_us, it.clients) == (slo_us, clients))
            .collect();
        let medians =
            |name: &str| -> Vec<f64> { group.iter().map(|it| it.of[name].median).collect() };
        let goodputs = medians("goodput_of_bound");
        let average = goodputs.iter().sum::<f64>() / goodputs.len() as f64;
        let at = |(it, &goodput): (&&Summary, &f64)| {
            format!("{} at {:.1} ×", percent(goodput), it.demand_ratio)
        };
        let each: Vec<String> = group.iter().zip(&goodputs).map(at).collect();
        let (p99s, drops) = (medians("p99_us"), medians("drop_ratio"));
        let most = |values: &[f64]| values.iter().copied().fold(f64::MIN, f64::max);
        let least = drops.iter().copied().fold(f64::MAX, f64::min);
        text += &line(&[
            format!("{clients}, {}", time(slo_us)),
            each.join(", "),
            percent(average),
            time(most(&p99s)),
            format!("{} to {}", percent(least), percent(most(&drops))),
        ]);
    }
    text
}

#[test]
fn goals_are_of_breakwater_from_its_capacity_on() {
    use tailwater_stats::result::Spread;
    let alike = |value| Spread { min: value, median: value, max: value };
    let summary = |controller: &str, demand_ratio, goodput, p99_us| Summary {
        controller: controller.into(),
        clients: 100,
        slo_us: 400.0,
        demand_ratio,
        of: [("goodput_of_bound", goodput), ("p99_us", p99_us), ("drop_ratio", goodput / 10.0)]
            .map(|(name, value)| (name.to_owned(), alike(value)))
            .into(),
        ..Summary::default()
    };
    let found = Experiment {
        summary: vec![
            summary(CONTROLLER, 0.5, 0.1, 900.0),
            summary(CONTROLLER, 1.0, 0.9, 350.0),
            summary("none", 1.5, 0.2, 900.0),
            summary(CONTROLLER, 1.5, 0.8, 370.0),
        ],
        ..Experiment::default()
    };
    let table = table(&serde_json::to_string(&found).expect("JSON"));
    let row = "| 100, 400 µs | 90 at 1.0 ×, 80 at 1.5 × | 85 | 370 µs | 8.0 to 9.0 |\n";
    assert!(table.ends_with(row), "{row} is not the end of\n{table}");
}
