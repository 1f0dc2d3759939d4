//! Threading models side by side: `scenarios/threads.toml`.

use super::{head, line};
use tailwater_report::{percent, time};
use tailwater_stats::result::{Experiment, Run, Spread};

/// A line for each model and a column for each demand: median and 99th percentile of latency, and what is in time of
/// what is asked for. A dash where no repetition is valid.
pub(super) fn table(result: &str) -> String {
    let result: Experiment = serde_json::from_str(result).expect("a result");
    let mut demands: Vec<f64> = Vec::new();
    let mut profiles: Vec<&str> = Vec::new();
    for run in &result.runs {
        if !demands.iter().any(|demand| is_near(*demand, run)) {
            demands.push(run.demand_ratio);
        }
        if !profiles.contains(&&*run.profile) {
            profiles.push(&run.profile);
        }
    }
    let mut heads = vec!["model".to_owned()];
    heads.extend(demands.iter().map(|demand| format!("{demand:.1} ×: p50, p99; in time")));
    let mut text = head(&heads);
    for profile in profiles {
        let of = |demand: &f64| {
            let ours = |run: &&Run| run.profile == profile && run.valid && is_near(*demand, run);
            cell(&result.runs.iter().filter(ours).collect::<Vec<_>>())
        };
        let word = profile.rsplit_once("model=").expect("a model").1.trim_end_matches(']');
        let mut cells = vec![format!("`{word}`")];
        cells.extend(demands.iter().map(of));
        text += &line(&cells);
    }
    text
}

fn is_near(demand: f64, run: &Run) -> bool {
    (run.demand_ratio - demand).abs() < 1e-3
}

fn cell(runs: &[&Run]) -> String {
    let median = |of: fn(&Run) -> f64| {
        Spread::of(&runs.iter().map(|run| of(run)).collect::<Vec<_>>()).median
    };
    if runs.is_empty() {
        return "–".into();
    }
    format!(
        "{}, {}; {} % (n = {})",
        time(median(|run| run.p50_us)),
        time(median(|run| run.p99_us)),
        percent(median(|run| run.goodput_rps / run.offered_rps)),
        runs.len()
    )
}
