//! One scenario's controllers at each demand, by numbers of clients.

use super::{called, head, line};
use tailwater_report::{percent, time};
use tailwater_stats::result::{Experiment, Summary};

/// A line for each number of clients and demand: of each controller goodput of capacity and of the bound, its p99
/// and its drops. A dash where no repetition is valid. Objectives stand above each other where there are several.
pub(super) fn table(result: &str) -> String {
    let result: Experiment = serde_json::from_str(result).expect("a result of tailwater run");
    let mut variants: Vec<&str> = Vec::new();
    let mut groups: Vec<(f64, u32, f64)> = Vec::new();
    for summary in &result.summary {
        if !variants.contains(&called(summary)) {
            variants.push(called(summary));
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
    heads.extend(variants.iter().map(|&name| name.to_owned()));
    let mut text = head(&heads);
    for (slo_us, clients, demand) in groups {
        let mut cells = vec![clients.to_string(), format!("{demand:.1} ×")];
        if has_several {
            cells.insert(0, time(slo_us));
        }
        for &variant in &variants {
            let found = result.summary.iter().find(|summary| {
                let of = (summary.slo_us, summary.clients, summary.demand_ratio);
                called(summary) == variant && of == (slo_us, clients, demand)
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
        percent(median("goodput_of_capacity")),
        percent(median("goodput_of_bound")),
        time(median("p99_us")),
        percent(median("drop_ratio")),
        summary.repetitions
    )
}
