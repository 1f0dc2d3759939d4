//! What Breakwater keeps from its capacity on, in the terms of the goals.

use super::{head, line, of_repetitions};
use tailwater_report::{percent, time};
use tailwater_stats::result::{Experiment, Summary};

/// Goals are of this controller, at this demand and above.
const CONTROLLER: &str = "breakwater";
const FROM: f64 = 1.0;

/// A line for each objective and number of clients, the looser objective first: goodput of the bound at each demand and
/// on average, the longest p99, and between what the drops are. All are medians of the valid repetitions,
/// whose number is told where it is small.
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
        let of = |name: &'static str| move |it: &Summary| it.of[name].median;
        let goodput = of("goodput_of_bound");
        let average = group.iter().map(|it| goodput(it)).sum::<f64>() / group.len() as f64;
        let at = |it: &&Summary| {
            told(it, format!("{} at {:.1} ×", percent(goodput(it)), it.demand_ratio))
        };
        let each: Vec<String> = group.iter().map(at).collect();
        let (p99, drops) = (of("p99_us"), of("drop_ratio"));
        let longest = most(&group, p99);
        let (least, highest) = (most(&group, |it| -drops(it)), most(&group, drops));
        text += &line(&[
            format!("{clients}, {}", time(slo_us)),
            each.join(", "),
            percent(average),
            told(longest, time(p99(longest))),
            format!(
                "{} to {}",
                told(least, percent(drops(least))),
                told(highest, percent(drops(highest)))
            ),
        ]);
    }
    text
}

/// What is told of these repetitions.
fn told(it: &Summary, text: String) -> String {
    of_repetitions(text, it.repetitions as usize)
}

/// The one that has most of it.
fn most<'a>(group: &[&'a Summary], of: impl Fn(&Summary) -> f64) -> &'a Summary {
    let most = group.iter().copied().max_by(|a, b| of(a).total_cmp(&of(b)));
    most.expect("a group has a demand")
}

#[test]
fn goals_are_of_breakwater_from_its_capacity_on_and_few_repetitions_are_told() {
    use tailwater_stats::result::Spread;
    let alike = |value| Spread { min: value, median: value, max: value };
    let summary = |controller: &str, (demand_ratio, repetitions), goodput, p99_us| Summary {
        controller: controller.into(),
        clients: 100,
        slo_us: 400.0,
        demand_ratio,
        repetitions,
        of: [("goodput_of_bound", goodput), ("p99_us", p99_us), ("drop_ratio", goodput / 10.0)]
            .map(|(name, value)| (name.to_owned(), alike(value)))
            .into(),
        ..Summary::default()
    };
    let found = Experiment {
        summary: vec![
            summary(CONTROLLER, (0.5, 5), 0.1, 900.0),
            summary(CONTROLLER, (1.0, 5), 0.9, 350.0),
            summary("none", (1.5, 5), 0.2, 900.0),
            summary(CONTROLLER, (1.5, 2), 0.8, 370.0),
        ],
        ..Experiment::default()
    };
    let table = table(&serde_json::to_string(&found).expect("JSON"));
    let row = "| 100, 400 µs | 90 at 1.0 ×, 80 at 1.5 × (n = 2) | 85 | 370 µs (n = 2) | \
               8.0 (n = 2) to 9.0 |\n";
    assert!(table.ends_with(row), "{row} is not the end of\n{table}");
}
