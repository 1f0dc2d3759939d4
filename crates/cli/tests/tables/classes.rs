//! Blind and by class side by side: `scenarios/classes.toml`.

use super::{head, line, of_repetitions, variants};
use tailwater_report::percent;
use tailwater_stats::result::{Experiment, Run, Spread};

const DEMANDS: [f64; 3] = [0.9, 1.2, 2.0];
/// The last is the one whose classes are shown.
const SHOWN: f64 = 2.0;

/// A line for each controller: medians over repetitions, and the worst second of all; the last line is the
/// bound for costs known.
pub(super) fn table(result: &str) -> String {
    let result: Experiment = serde_json::from_str(result).expect("a result");
    let mut heads = vec!["in time, of the blind bound".to_owned()];
    heads.extend(DEMANDS.map(|demand| format!("{demand:.1} ×")));
    heads.extend(["short at 2.0 ×", "long at 2.0 ×", "long in its worst second"].map(Into::into));
    let mut text = head(&heads);
    for (controller, profile) in variants(&result) {
        let runs = |demand: f64| -> Vec<&Run> {
            let ours = |run: &&Run| {
                run.asked.controller == controller
                    && run.asked.profile == profile
                    && run.verdict.valid
                    && (run.asked.demand_ratio - demand).abs() < 1e-3
            };
            result.runs.iter().filter(ours).collect()
        };
        let mut cells = vec![format!("`{controller}`, {profile}")];
        cells.extend(
            DEMANDS.map(|demand| median(&runs(demand), |run: &Run| run.rates.goodput_of_bound)),
        );
        let shown = runs(SHOWN);
        cells.push(median(&shown, |run: &Run| run.classes[0].share));
        cells.push(median(&shown, |run: &Run| run.classes[1].share));
        let least = shown.iter().map(|run| run.classes[1].least_share).fold(1.0, f64::min);
        cells.push(format!("{} %", percent(least)));
        text += &line(&cells);
    }
    let known = DEMANDS.map(|demand| {
        let run = result.runs.iter().find(|run| (run.asked.demand_ratio - demand).abs() < 1e-3);
        let run = run.expect("a run at every demand");
        format!("{} %", percent(run.known_bound_rps / run.yardstick.bound_rps))
    });
    let rest = ["", "", ""].map(String::from);
    text + &line(&[vec!["bound for costs known".to_owned()], known.into(), rest.into()].concat())
}

fn median(runs: &[&Run], of: impl Fn(&Run) -> f64) -> String {
    let values: Vec<f64> = runs.iter().map(|run| of(run)).collect();
    of_repetitions(format!("{} %", percent(Spread::of(&values).median)), runs.len())
}
