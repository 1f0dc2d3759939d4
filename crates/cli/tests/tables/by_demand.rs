//! One scenario's controllers at each demand, by numbers of clients.

use super::{head, line};
use tailwater_report::{percent, time};
use tailwater_stats::result::{Experiment, Summary};

/// A line for each number of clients and demand: of each controller goodput of capacity and of the bound, and
/// its p99. A dash where no repetition is valid.
pub(super) fn table(result: &str) -> String {
    let result: Experiment = serde_json::from_str(result).expect("a result of tailwater run");
    let mut controllers: Vec<&str> = Vec::new();
    let mut groups: Vec<(u32, f64)> = Vec::new();
    for summary in &result.summary {
        if !controllers.contains(&&*summary.controller) {
            controllers.push(&summary.controller);
        }
        if !groups.contains(&(summary.clients, summary.demand_ratio)) {
            groups.push((summary.clients, summary.demand_ratio));
        }
    }
    groups.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let mut heads = vec!["clients".to_owned(), "demand".to_owned()];
    heads.extend(controllers.iter().map(|&name| name.to_owned()));
    let mut text = head(&heads);
    for (clients, demand) in groups {
        let mut cells = vec![clients.to_string(), format!("{demand:.1} ×")];
        for &controller in &controllers {
            let found = result.summary.iter().find(|summary| {
                let of = (summary.clients, summary.demand_ratio);
                summary.controller == controller && of == (clients, demand)
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
        "{}, {}; {} (n = {})",
        percent(median("goodput_of_capacity")),
        percent(median("goodput_of_bound")),
        time(median("p99_us")),
        summary.repetitions
    )
}
