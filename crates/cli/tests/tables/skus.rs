//! What `tailwater tune sku` found for each service.

use super::{head, line};
use serde_json::Value;

/// From the files that `tune sku --out` writes, one for each service.
pub(super) fn table(results: &[String]) -> String {
    let heads = ["service", "tests", "soft SKU", "against stock, confirmed", "not tried"];
    let mut table = head(&heads.map(String::from));
    for result in results {
        let result: Value = serde_json::from_str(result).expect("what a search found");
        let list = |key: &str| result[key].as_array().expect("a list").clone();
        let tests: Vec<String> = list("tested").iter().map(tested).collect();
        let confirmed: Vec<String> = list("confirmed").iter().map(found).collect();
        let title = result["title"].as_str().expect("a title");
        let service = title.split(", by").next().unwrap_or(title);
        let minutes = result["seconds"].as_f64().expect("a number") / 60.0;
        let adopted = adopted(&result);
        table += &line(&[
            format!("{service}, {minutes:.0} min"),
            or_none(&tests, "; "),
            or_none(&adopted, ", "),
            or_none(&confirmed, "; "),
            list("untried").len().to_string(),
        ]);
    }
    table
}

fn or_none(words: &[String], between: &str) -> String {
    if words.is_empty() { "none".into() } else { words.join(between) }
}

/// The knobs whose value is another than stock.
fn adopted(result: &Value) -> Vec<String> {
    let words = |key: &str| result[key].as_array().expect("a list").clone();
    let values = words("sku").into_iter().zip(words("stock"));
    let changed = words("knobs").into_iter().zip(values).filter(|(_, (sku, stock))| sku != stock);
    let word = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    changed.map(|(knob, (value, _))| format!("{}={}", word(&knob), word(&value))).collect()
}

fn tested(test: &Value) -> String {
    format!("{}: {}", test["name"].as_str().expect("a name"), found(test))
}

/// Costs in per cent of the other arm's, with the interval; else what the test could have found.
fn found(test: &Value) -> String {
    let looks = test["looks"].as_array().expect("a list");
    let quads = looks.last().map_or(0, |look| look["quads"].as_u64().unwrap_or(0));
    let per_cent = |log: &Value| log.as_f64().map(|log| log.exp_m1() * 100.0);
    let last = looks.last().unwrap_or(&Value::Null);
    let [low, high] = [0, 1].map(|end| per_cent(&last["interval"][end]));
    let smallest = per_cent(&test["smallest_effect"]);
    match (test["verdict"].as_str(), per_cent(&last["mean"]), low.zip(high), smallest) {
        (Some("better" | "worse"), Some(mean), Some((low, high)), _) => {
            format!("{mean:+.1} % ({low:+.1} to {high:+.1} %), {quads} quads")
        }
        (_, _, _, Some(smallest)) => {
            format!("open after {quads} quads, which find {smallest:.0} %")
        }
        _ => format!("open after {quads} quads"),
    }
}

#[test]
fn a_gain_has_its_interval_and_what_is_open_says_what_would_have_been_found() {
    let found = r#"{
        "title": "A store, by its runtime", "seconds": 599.0,
        "knobs": ["transport", "thp"], "stock": ["inherited", "madvise"], "sku": ["unix", "madvise"],
        "tested": [
            { "name": "transport=unix", "verdict": "better", "smallest_effect": 0.1,
              "looks": [{ "quads": 16, "mean": -0.1053605, "interval": [-0.2231436, -0.0512933] }] },
            { "name": "thp=always", "verdict": "open", "smallest_effect": 0.3364722,
              "looks": [{ "quads": 5, "mean": 0.1, "interval": null }] }
        ],
        "confirmed": [{ "name": "stock", "verdict": "open", "smallest_effect": null, "looks": [] }],
        "untried": ["thp=never"]
    }"#;
    let row = "| A store, 10 min | transport=unix: -10.0 % (-20.0 to -5.0 %), 16 quads; thp=always: open after 5 quads, which \
               find 40 % | transport=unix | open after 0 quads | 1 |";
    let table = table(&[found.to_owned()]);
    assert!(table.contains(row), "{row} is not in\n{table}");
}
