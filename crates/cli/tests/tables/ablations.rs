//! What constants of a law are worth: `scenarios/ablations/calm.toml`, its twin with stalls, and `departures.toml`.

use super::{head, line, of_repetitions};
use tailwater_stats::result::{Experiment, Summary};

const CLIENTS: [(u32, &str); 2] = [(1_000, "1,000 clients: "), (100, "100 clients: ")];
/// Below capacity: what is held back for nothing is lost.
const CALM: f64 = 0.9;

/// A line for each variant: medians over repetitions, and from the capacity on their mean over demands.
pub(super) fn table(result: &str) -> String {
    let result: Experiment = serde_json::from_str(result).expect("a result");
    let mut heads = vec![String::new()];
    for (_, clients) in CLIENTS {
        heads.extend([format!("{clients}0.9 ×"), "1.0 to 2.0 ×".into(), "dropped there".into()]);
    }
    let mut text = head(&heads);
    for variant in variants(&result) {
        let mut cells = vec![variant.to_owned()];
        for (clients, _) in CLIENTS {
            let at = |is_overloaded: bool| -> Vec<&Summary> {
                let ours = |it: &&Summary| {
                    it.profile == variant
                        && it.clients == clients
                        && (it.demand_ratio > CALM + 0.05) == is_overloaded
                };
                result.summary.iter().filter(ours).collect()
            };
            cells.push(mean(&at(false), "goodput_of_bound"));
            cells.push(mean(&at(true), "goodput_of_bound"));
            cells.push(mean(&at(true), "drop_ratio"));
        }
        text += &line(&cells);
    }
    text
}

/// Each once, in the order of the file.
fn variants(result: &Experiment) -> Vec<&str> {
    let mut seen: Vec<&str> = Vec::new();
    for summary in &result.summary {
        if !seen.contains(&&*summary.profile) {
            seen.push(&summary.profile);
        }
    }
    seen
}

fn mean(of: &[&Summary], name: &str) -> String {
    assert!(!of.is_empty(), "no valid run");
    let sum: f64 = of.iter().map(|it| it.of[name].median).sum();
    let n = of.iter().map(|it| it.repetitions as usize).sum();
    of_repetitions(format!("{:.1} %", 100.0 * sum / of.len() as f64), n)
}
