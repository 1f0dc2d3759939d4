//! One scenario's controllers at each demand, by numbers of clients.

use super::{Variant, called, head, line, ranged, variant};
use tailwater_report::{percent, time};
use tailwater_stats::result::{Experiment, Summary};

/// A line for each number of clients and demand: of each controller goodput of capacity, with its range, and of the
/// bound, its p99 and its drops. A dash where no repetition is valid. Objectives stand above each other where there are several.
pub(super) fn table(result: &str) -> String {
    let result: Experiment = serde_json::from_str(result).expect("a result of tailwater run");
    let mut variants: Vec<Variant<'_>> = Vec::new();
    let mut groups: Vec<(f64, u32, f64)> = Vec::new();
    for summary in &result.summary {
        if !variants.contains(&variant(summary)) {
            variants.push(variant(summary));
        }
        let group = (summary.slo_us, summary.clients, summary.demand_ratio);
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    // The looser objective first.
    groups.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)).then(a.2.total_cmp(&b.2)));
    let has_several = groups.iter().any(|group| group.0 != groups[0].0);
    let mut heads = vec!["clients".to_owned(), "demand".to_owned()];
    if has_several {
        heads.insert(0, "SLO".to_owned());
    }
    heads.extend(variants.iter().map(|&it| called(it, &variants)));
    let mut text = head(&heads);
    for (slo_us, clients, demand) in groups {
        let mut cells = vec![clients.to_string(), format!("{demand:.1} ×")];
        if has_several {
            cells.insert(0, time(slo_us));
        }
        for &column in &variants {
            let found = result.summary.iter().find(|summary| {
                let of = (summary.slo_us, summary.clients, summary.demand_ratio);
                variant(summary) == column && of == (slo_us, clients, demand)
            });
            cells.push(found.map_or("–".into(), cell));
        }
        text += &line(&cells);
    }
    text
}

fn cell(summary: &Summary) -> String {
    let median = |name: &str| summary.of[name].median;
    format!(
        "{}, {}; {}; {} (n = {})",
        ranged(summary.of["goodput_of_capacity"]),
        percent(median("goodput_of_bound")),
        time(median("p99_us")),
        percent(median("drop_ratio")),
        summary.repetitions
    )
}

#[test]
fn two_controllers_with_one_profile_have_a_column_each() {
    use tailwater_stats::result::Spread;
    let alike = |value| Spread { min: value, median: value, max: value };
    let summary = |controller: &str, profile: &str, goodput| Summary {
        controller: controller.into(),
        profile: profile.into(),
        clients: 100,
        demand_ratio: 1.0,
        repetitions: 5,
        of: [
            ("goodput_of_capacity", goodput),
            ("goodput_of_bound", goodput),
            ("p99_us", 350.0),
            ("drop_ratio", 0.02),
        ]
        .map(|(name, value)| (name.to_owned(), alike(value)))
        .into(),
        ..Summary::default()
    };
    let found = Experiment {
        summary: vec![
            summary("breakwater", "paper", 0.9),
            summary("dagor", "paper", 0.6),
            summary("none", "default", 0.2),
        ],
        ..Experiment::default()
    };
    let table = table(&serde_json::to_string(&found).expect("JSON"));
    let heads = "| clients | demand | breakwater, paper | dagor, paper | none |\n";
    assert!(table.starts_with(heads), "{heads} is not the head of\n{table}");
    let row = "| 100 | 1.0 × | 90, 90; 350 µs; 2.0 (n = 5) | 60, 60; 350 µs; 2.0 (n = 5) | \
               20, 20; 350 µs; 2.0 (n = 5) |\n";
    assert!(table.ends_with(row), "{row} is not the end of\n{table}");
}
