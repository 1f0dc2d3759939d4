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
            demands.push(run.asked.demand_ratio);
        }
        if !profiles.contains(&&*run.asked.profile) {
            profiles.push(&run.asked.profile);
        }
    }
    let mut heads = vec!["model".to_owned()];
    heads.extend(demands.iter().map(|demand| format!("{demand:.1} ×: p50, p99; in time")));
    let mut text = head(&heads);
    for profile in profiles {
        let of = |demand: &f64| {
            let ours = |run: &&Run| {
                run.asked.profile == profile && run.verdict.valid && is_near(*demand, run)
            };
            cell(&result.runs.iter().filter(ours).collect::<Vec<_>>())
        };
        let mut cells = vec![format!("`{}`", word(profile))];
        cells.extend(demands.iter().map(of));
        text += &line(&cells);
    }
    text
}

/// The same by requests a second: the 99th percentile, and how many times that of the best model under this load it is, as
/// in Figure 3.11 of the thesis. Infinite where requests are late or lost.
pub(super) fn by_rate(result: &str) -> String {
    let result: Experiment = serde_json::from_str(result).expect("a result");
    let (mut rates, mut profiles): (Vec<f64>, Vec<&str>) = Default::default();
    for run in &result.runs {
        if !rates.contains(&run.rates.asked_rps) {
            rates.push(run.rates.asked_rps);
        }
        if !profiles.contains(&&*run.asked.profile) {
            profiles.push(&run.asked.profile);
        }
    }
    let is_borne = |run: &&Run| run.rates.goodput_rps > 0.99 * run.rates.offered_rps;
    let best = |rate: f64| {
        let there = result.runs.iter().filter(|run| run.rates.asked_rps == rate).filter(is_borne);
        there.map(|run| run.latency.p99_us).fold(f64::INFINITY, f64::min)
    };
    let mut text = head(
        &std::iter::once("model".to_owned())
            .chain(rates.iter().map(|rate| format!("{rate:.0}/s")))
            .collect::<Vec<_>>(),
    );
    for profile in profiles {
        let of = |rate: &f64| {
            let mut ours = result.runs.iter().filter(|it| it.asked.profile == profile);
            let run = ours.find(|run| run.rates.asked_rps == *rate).filter(is_borne);
            run.map_or("∞".into(), |run| {
                format!("{:.2} ({})", run.latency.p99_us / best(*rate), time(run.latency.p99_us))
            })
        };
        let mut cells = vec![format!("`{}`", word(profile))];
        cells.extend(rates.iter().map(of));
        text += &line(&cells);
    }
    text
}

fn word(profile: &str) -> &str {
    profile.rsplit_once("model=").expect("a model").1.trim_end_matches(']')
}

fn is_near(demand: f64, run: &Run) -> bool {
    (run.asked.demand_ratio - demand).abs() < 1e-3
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
        time(median(|run| run.latency.p50_us)),
        time(median(|run| run.latency.p99_us)),
        percent(median(|run| run.rates.goodput_rps / run.rates.offered_rps)),
        runs.len()
    )
}
