//! What `benches/tuning` found: alarms where nothing differs, and planted effects.

use super::{head, line};
use serde_json::Value;

/// From the file that `tuning --out` writes.
pub(super) fn table(result: &str) -> String {
    let result: Value = serde_json::from_str(result).expect("what the bench found");
    let number = |value: &Value| value.as_f64().expect("a number");
    let redrawn = &result["redrawn"];
    let drawn = number(&redrawn["redrawings"]);
    let share = |of: &str| format!("{:.1} %", number(&redrawn[of]) / drawn * 100.0);
    let blocks = &redrawn["blocks"];
    let mut table = head(&["what".into(), "found".into(), "goal".into()]);
    let mut row = |what: String, found: String, goal: &str| {
        table += &line(&[what, found, goal.into()]);
    };
    row(format!("alarms, {blocks} real blocks redrawn"), share("ours"), "5 % at most");
    row("the same by µSKU's rule".into(), share("muskus"), "–");
    row("gains confirmed of a null knob".into(), share("confirmed"), "2 % at most");
    let live = &result["live"];
    let found = format!("{} of {}", live["found"], live["comparisons"]);
    row("alarms, live".into(), found, "3 of 20 at most");
    for planted in result["planted"].as_array().expect("effects") {
        let effect = number(&planted["effect"]) * 100.0;
        let [right, wrong] = ["right", "wrong"].map(|key| &planted[key]);
        let all = &planted["comparisons"];
        let promised = number(&planted["promised"]) * 100.0;
        let found = format!("{right} of {all}, wrong sign {wrong}");
        row(format!("{effect:.0} % planted"), found, &format!("promised {promised:.0} %"));
        let median = |key: &str| {
            let values = planted[key].as_array().expect("a list");
            values
                .get(values.len() / 2)
                .map_or("–".into(), |value| format!("{:.0}", number(value)))
        };
        let found = format!("{} quads, {} s", median("quads"), median("seconds"));
        row("until it was found, median".into(), found, "–");
    }
    // Results of before kills were tried have none.
    if let Some(kills) = result["killed"]["kills"].as_u64() {
        let [turned, left] = ["turned", "left"].map(|key| &result["killed"][key]);
        let what = format!("a knob of the kernel that stayed turned, {kills} kills");
        row(what, format!("{left}; {turned} found it turned"), "0");
    }
    table
}

#[test]
fn what_the_bench_found_is_a_table() {
    let found = r#"{
        "redrawn": { "blocks": 400, "redrawings": 1000, "ours": 12, "muskus": 700, "confirmed": 1 },
        "live": { "found": 1, "comparisons": 20 },
        "planted": [{ "effect": 0.05, "comparisons": 4, "right": 3, "wrong": 0, "promised": 0.8, "quads": [20, 30, 40],
            "seconds": [11.6, 12.4, 99.0] }],
        "killed": { "kills": 100, "turned": 61, "left": 0 }
    }"#;
    let table = table(found);
    for row in [
        "| alarms, 400 real blocks redrawn | 1.2 % | 5 % at most |",
        "| the same by µSKU's rule | 70.0 % | – |",
        "| gains confirmed of a null knob | 0.1 % | 2 % at most |",
        "| 5 % planted | 3 of 4, wrong sign 0 | promised 80 % |",
        "| until it was found, median | 30 quads, 12 s | – |",
        "| a knob of the kernel that stayed turned, 100 kills | 0; 61 found it turned | 0 |",
    ] {
        assert!(table.contains(row), "{row} is not in\n{table}");
    }
}
