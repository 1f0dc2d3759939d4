//! Threading models and what was promised of them: `benches/threads`.

use super::{head, line};
use serde::Deserialize;

#[derive(Deserialize)]
struct Report {
    goals: Vec<Goal>,
}

#[derive(Deserialize)]
struct Goal {
    part: String,
    goal: String,
    found: String,
    met: bool,
}

/// A line for each promise, in the order of the file.
pub(super) fn table(result: &str) -> String {
    let report: Report = serde_json::from_str(result).expect("a result of benches/threads");
    let heads = ["part", "promised", "found", ""];
    let mut text = head(&heads.map(Into::into));
    for Goal { part, goal, found, met } in report.goals {
        text += &line(&[part, goal, found, if met { "met" } else { "missed" }.into()]);
    }
    text
}
