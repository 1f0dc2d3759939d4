//! What `tailwater tune sku` found for each service.

use super::{head, line};
use serde_json::Value;

/// From the files that `tune sku --out` writes, one for each service.
pub(super) fn table(results: &[String]) -> String {
    let heads = [
        "service",
        "tests",
        "soft SKU",
        "against stock, confirmed",
        "against hand-tuned",
        "not tried",
    ];
    let mut table = head(&heads.map(String::from));
    for result in results {
        let result: Value = serde_json::from_str(result).expect("what a search found");
        let list = |key: &str| result[key].as_array().expect("a list").clone();
        let tests: Vec<String> = list("tested").iter().map(tested).collect();
        let confirmed = list("confirmed");
        let (stock, rivals): (Vec<&Value>, Vec<&Value>) =
            confirmed.iter().partition(|test| test["name"] == "stock");
        let stock: Vec<String> = stock.into_iter().map(found).collect();
        let rivals: Vec<String> = rivals.into_iter().map(tested).collect();
        let title = result["title"].as_str().expect("a title");
        let service = title.split(", by").next().unwrap_or(title);
        let minutes = result["seconds"].as_f64().expect("a number") / 60.0;
        let adopted = adopted(&result);
        table += &line(&[
            format!("{service}, {minutes:.0} min"),
            or_none(&tests, "; "),
            or_none(&adopted, ", "),
            if stock.is_empty() { nothing(&result) } else { stock.join("; ") },
            or_none(&rivals, "; "),
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
        _ if by_signs(looks).is_some() => {
            let (low, high, level) = by_signs(looks).unwrap_or_default();
            let [low, high] = [low, high].map(|log| log.exp_m1() * 100.0);
            let level = level * 100.0;
            format!("open after {quads} quads: {low:+.1} to {high:+.1} % ({level:.0} % sure)")
        }
        (_, _, _, Some(smallest)) => {
            format!("open after {quads} quads, which find {smallest:.0} %")
        }
        _ => format!("open after {quads} quads"),
    }
}

/// What was found where nothing was confirmed: the largest gain that the tests leave open, and what screening keeps.
fn nothing(result: &Value) -> String {
    let tests = result["tested"].as_array().expect("a list").iter();
    let gains =
        tests.filter_map(|test| Some(by_signs(test["looks"].as_array()?)?.0.exp_m1() * -100.0));
    let largest =
        gains.fold(None, |most: Option<f64>, gain| Some(most.map_or(gain, |most| most.max(gain))));
    let left = match largest {
        Some(gain) if gain > 0.0 => {
            format!("nothing: of what was tested, a gain of {gain:.0} % at most")
        }
        Some(_) => "nothing: what was tested costs more".into(),
        None => "nothing".into(),
    };
    match result["screening"]["smallest_kept"].as_f64() {
        Some(kept) => format!("{left}; of what was screened, {:.0} %", kept.exp_m1() * 100.0),
        None => left,
    }
}

/// Surest intervals wanted of the signs.
const LEVEL: f64 = 0.95;
/// Fewer quads say too little.
const QUADS_MIN: usize = 5;

/// The interval of the median quad by order statistics (the sign test turned around), and its level: 95 % or more, or
/// what five quads have. It holds for a number of quads that the evidence did not decide: the time ended these tests.
fn by_signs(looks: &[Value]) -> Option<(f64, f64, f64)> {
    let sums = looks.iter().map(|look| Some(look["mean"].as_f64()? * look["quads"].as_f64()?));
    let sums: Vec<f64> = std::iter::once(Some(0.0)).chain(sums).collect::<Option<_>>()?;
    let mut quads: Vec<f64> = sums.windows(2).map(|pair| pair[1] - pair[0]).collect();
    quads.sort_by(f64::total_cmp);
    if quads.len() < QUADS_MIN {
        return None;
    }
    let level = |dropped: usize| 1.0 - 2.0 * below(quads.len(), dropped + 1);
    let dropped = (1..quads.len() / 2).take_while(|dropped| level(*dropped) >= LEVEL).last();
    let dropped = dropped.unwrap_or(0);
    Some((quads[dropped], quads[quads.len() - 1 - dropped], level(dropped)))
}

/// The chance that fewer than so many of n coins show heads.
fn below(n: usize, heads: usize) -> f64 {
    let mut ways = 1.0;
    let mut sum = 0.0;
    for k in 0..heads {
        sum += ways;
        ways *= (n - k) as f64 / (k + 1) as f64;
    }
    sum / 2.0_f64.powi(n as i32)
}

#[test]
fn an_open_test_says_between_what_its_effect_is() {
    let look = |(at, mean): (usize, f64)| serde_json::json!({ "quads": at + 1, "mean": mean });
    // Quads of 1, 2, … 12: the third and the tenth leave 3.9 %.
    let looks: Vec<Value> = (0..12).map(|at| look((at, (at as f64 + 2.0) / 2.0))).collect();
    let (low, high, level) = by_signs(&looks).expect("enough");
    assert!((low - 3.0).abs() < 1e-9 && (high - 10.0).abs() < 1e-9, "{low} {high}");
    assert!((level - (1.0 - 2.0 * 79.0 / 4096.0)).abs() < 1e-9, "{level}");
    let (low, high, level) = by_signs(&looks[..5]).expect("five");
    assert!((low - 1.0).abs() < 1e-9 && (high - 5.0).abs() < 1e-9 && level == 0.9375);
    assert!(by_signs(&looks[..4]).is_none());
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
              "looks": [{ "quads": 1, "mean": 0.1, "interval": null }] }
        ],
        "screening": { "smallest_kept": 0.0953102 },
        "confirmed": [],
        "untried": ["thp=never"]
    }"#;
    let row = "| A store, 10 min | transport=unix: -10.0 % (-20.0 to -5.0 %), 16 quads; thp=always: open after 1 quads, which \
               find 40 % | transport=unix | nothing; of what was screened, 10 % | none | 1 |";
    let of = |name: &str| {
        format!(
            r#"{{ "name": "{name}", "verdict": "better", "smallest_effect": 0.1,
              "looks": [{{ "quads": 16, "mean": -0.1053605, "interval": [-0.2231436, -0.0512933] }}] }}"#
        )
    };
    let claims = format!(r#""confirmed": [{}, {}]"#, of("stock"), of("by hand"));
    let held = found.replace(r#""confirmed": []"#, &claims);
    let gain = "-10.0 % (-20.0 to -5.0 %), 16 quads";
    let both = format!("| transport=unix | {gain} | by hand: {gain} | 1 |");
    let table = table(&[found.to_owned(), held]);
    for row in [row, &both] {
        assert!(table.contains(row), "{row} is not in\n{table}");
    }
}
