//! What one attacker costs an honest client: `benches/hostile`.

use super::{head, line, with_range};
use serde_json::Value;
use tailwater_report::{percent, time};
use tailwater_stats::result::Spread;

/// Name in the file and in the page.
const ATTACKS: [(&str, &str); 7] = [
    ("demands", "DEMAND frames"),
    ("control", "PING, CANCEL, DEREGISTER"),
    ("flood", "requests beyond the window"),
    ("halves", "200 half frames that drip"),
    ("silent", "2,000 silent connections"),
    ("echoes", "false echoes"),
    ("hoarders", "200 claims of a demand of 2³²−1"),
];

/// A line for each attack: medians over all pairs, ratios with their range, and the largest memory.
pub(super) fn table(result: &str) -> String {
    let result: Value = serde_json::from_str(result).expect("a result of benches/hostile");
    let pairs = result["pairs"].as_array().expect("a list");
    let heads =
        ["attack", "p99 without", "p99 with ÷ without", "goodput", "server CPU added", "memory"];
    let mut text = head(&heads.map(Into::into));
    for (attack, shown) in ATTACKS {
        let ours: Vec<&Value> = pairs.iter().filter(|pair| pair["attack"] == attack).collect();
        let of =
            |read: &dyn Fn(&Value) -> f64| ours.iter().map(|pair| read(pair)).collect::<Vec<_>>();
        let ratio =
            |key: &str| of(&|pair| number(&pair["attacked"][key]) / number(&pair["baseline"][key]));
        let added = of(&|pair| {
            number(&pair["attacked"]["server_share"]) - number(&pair["baseline"]["server_share"])
        });
        let memory = of(&|pair| number(&pair["attacked"]["memory_max"]) / f64::from(1 << 20));
        text += &line(&[
            shown.to_owned(),
            time(Spread::of(&of(&|pair| number(&pair["baseline"]["p99_us"]))).median),
            with_range(&ratio("p99_us")),
            with_range(&ratio("goodput_rps")),
            format!("{} %", percent(Spread::of(&added).median.max(0.0))),
            format!("{:.0} MiB", Spread::of(&memory).max),
        ]);
    }
    text
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}
