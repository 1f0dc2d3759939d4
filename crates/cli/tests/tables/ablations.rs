//! What constants of a law are worth: `scenarios/ablations/calm.toml` and its twin with stalls.

use super::{head, line, of_repetitions, variants};
use tailwater_stats::result::{Experiment, Run};

const CLIENTS: [(u32, &str); 2] = [(1_000, "1,000 clients: "), (100, "100 clients: ")];
/// Below capacity: what is held back for nothing is lost.
const CALM: f64 = 0.9;

/// A line for each variant: means over repetitions and, from the capacity on, over demands.
pub(super) fn table(result: &str) -> String {
    let result: Experiment = serde_json::from_str(result).expect("a result");
    let mut heads = vec![String::new()];
    for (_, clients) in CLIENTS {
        heads.extend([format!("{clients}0.9 ×"), "1.0 to 2.0 ×".into(), "dropped there".into()]);
    }
    let mut text = head(&heads);
    for (_, variant) in variants(&result) {
        let mut cells = vec![variant.to_owned()];
        for (clients, _) in CLIENTS {
            let runs = |overloaded: bool| -> Vec<&Run> {
                let ours = |run: &&Run| {
                    run.profile == variant
                        && run.clients == clients
                        && run.valid
                        && (run.demand_ratio > CALM + 0.05) == overloaded
                };
                result.runs.iter().filter(ours).collect()
            };
            cells.push(mean(&runs(false), |run| run.goodput_of_bound));
            cells.push(mean(&runs(true), |run| run.goodput_of_bound));
            cells.push(mean(&runs(true), |run| run.drop_ratio));
        }
        text += &line(&cells);
    }
    text
}

fn mean(runs: &[&Run], of: impl Fn(&Run) -> f64) -> String {
    assert!(!runs.is_empty(), "no valid run");
    let sum: f64 = runs.iter().map(|run| of(run)).sum();
    of_repetitions(format!("{:.1} %", 100.0 * sum / runs.len() as f64), runs.len())
}
