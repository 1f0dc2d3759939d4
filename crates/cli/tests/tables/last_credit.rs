//! `scenarios/paper/ablation-last-credit.toml`: what gentler settings cost, by how a session loses its last credit.

use super::{head, line};
use tailwater_report::percent;
use tailwater_stats::result::Experiment;

/// The settings, the published ones first.
const SETTINGS: [&str; 3] = ["α 0.1 %, β 2 %", "α 0.1 %, β 8 %", "α 0.05 %, β 10 %"];

/// A line for each rule: goodput with the published settings, and by how much the others are below it.
pub(super) fn table(result: &str) -> String {
    let result: Experiment = serde_json::from_str(result).expect("a result of tailwater run");
    let goodput = |rule: &str, settings: &str| {
        let label = format!("{rule} · {settings}");
        let found = result.summary.iter().find(|summary| summary.profile == label);
        found.expect("all are played").of["goodput_of_capacity"].median
    };
    let mut rules: Vec<&str> = Vec::new();
    for summary in &result.summary {
        let (rule, _) = summary.profile.split_once(" · ").expect("a rule and its settings");
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    let heads = ["the last credit is", SETTINGS[0], SETTINGS[1], SETTINGS[2]];
    let mut text = head(&heads.map(Into::into));
    for rule in rules {
        let published = goodput(rule, SETTINGS[0]);
        let below =
            |settings| format!("{:+.1} %", (goodput(rule, settings) / published - 1.0) * 100.0);
        let first = format!("{} %", percent(published));
        text += &line(&[rule.to_owned(), first, below(SETTINGS[1]), below(SETTINGS[2])]);
    }
    text
}
