//! Crowds of simulated clients: the share of the bound over the seeds, by controller.

use super::{head, line};
use tailwater_report::percent;
use tailwater_stats::result::{Experiment, Spread, Summary};

const SYSTEMS: [(&str, &str); 3] =
    [("aqm-only", "default"), ("breakwater", "paper"), ("breakwater", "default")];

/// A line for each number of clients and demand. A cell that several files hold is that of the most repetitions.
pub(super) fn table(results: &[String]) -> String {
    let results: Vec<Experiment> = results
        .iter()
        .map(|text| serde_json::from_str(text).expect("a result of tailwater run"))
        .collect();
    let cells: Vec<&Summary> = results.iter().flat_map(|result| &result.summary).collect();
    let mut rows: Vec<(u32, f64)> = Vec::new();
    for cell in &cells {
        if !rows.contains(&(cell.clients, cell.demand_ratio)) {
            rows.push((cell.clients, cell.demand_ratio));
        }
    }
    let names = SYSTEMS.map(|(name, profile)| format!("{name}, {profile}"));
    let mut text = head(&[&["clients".to_owned(), "demand".to_owned()][..], &names].concat());
    for (clients, demand) in rows {
        let found = SYSTEMS.map(|system| {
            let is_here = |cell: &&&Summary| {
                (cell.clients, cell.demand_ratio, &*cell.controller, &*cell.profile)
                    == (clients, demand, system.0, system.1)
            };
            let best = cells.iter().filter(is_here).max_by_key(|cell| cell.repetitions);
            best.map_or("–".into(), |cell| share(cell))
        });
        let lead = [clients.to_string(), format!("{demand:.2} ×")];
        text += &line(&[&lead[..], &found].concat());
    }
    text
}

/// Median and range; a single seed says so.
fn share(cell: &Summary) -> String {
    let Spread { min, median, max } = cell.of["goodput_of_bound"];
    match cell.repetitions {
        1 => format!("{} % (one seed)", percent(median)),
        _ => format!("{} [{}–{}] %", percent(median), percent(min), percent(max)),
    }
}
