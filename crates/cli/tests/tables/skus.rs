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
            if stock.is_empty() { nothing(&result, !adopted.is_empty()) } else { stock.join("; ") },
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

/// The verdict, with the change in per cent of the other arm where one is shown: no interval, no claim of a size. What is
/// open says what the test could have found.
fn found(test: &Value) -> String {
    let looks = test["looks"].as_array().expect("a list");
    let last = looks.last().unwrap_or(&Value::Null);
    let quads = last["quads"].as_u64().unwrap_or(0);
    let after = if quads == 1 { "1 quad".to_owned() } else { format!("{quads} quads") };
    let [low, high] = [0, 1].map(|end| per_cent(&last["interval"][end]));
    let size = match (per_cent(&last["mean"]), low.zip(high)) {
        (Some(mean), Some((low, high))) => format!("{mean:+.1} % ({low:+.1} to {high:+.1} %)"),
        (Some(mean), None) => format!("{mean:+.1} % without an interval"),
        (None, _) => "unknown".into(),
    };
    let verdict = &test["verdict"];
    if let Some(guard) = verdict["alarm"].as_str() {
        return format!("alarm of {guard} after {after}");
    }
    match verdict.as_str().expect("a verdict") {
        "better" | "worse" => format!("{size}, {after}"),
        "alike" => format!("alike, {size}, {after}"),
        "cut_short" => format!("cut short after {after}, nothing is claimed"),
        "noisy" => format!("too noisy after {after}"),
        "open" if !test["failed"].is_null() => format!("failed after {after}"),
        // No gain is claimed without an interval, whatever an older result says that so few quads find.
        "open" => match per_cent(&test["smallest_effect"]).filter(|_| low.is_some()) {
            Some(smallest) => format!("open after {after}, which find {smallest:.0} %"),
            None => format!("open after {after}, too few for a claim"),
        },
        other => panic!("{other}: a verdict without a word in the table"),
    }
}

fn per_cent(log: &Value) -> Option<f64> {
    log.as_f64().map(|log| log.exp_m1() * 100.0)
}

/// What was found where nothing was confirmed: what tests leave open, each at its own level and without losses that are shown, and
/// what screening keeps of what it left out. Where a value was adopted, its tests say more.
fn nothing(result: &Value, has_adopted: bool) -> String {
    let tests = result["tested"].as_array().expect("a list").iter();
    let tests = tests.filter(|test| !has_adopted && test["verdict"] != "worse");
    let interval = |test: &Value| {
        let last = test["looks"].as_array().expect("a list").last()?;
        per_cent(&last["interval"][0]).zip(per_cent(&last["interval"][1]))
    };
    let wider = |(low, high): (f64, f64), (from, to): (f64, f64)| (low.min(from), high.max(to));
    let open = tests.filter_map(interval).reduce(wider);
    let open = open.map(|(low, high)| format!("; tests leave {low:+.1} to {high:+.1} % open"));
    let kept = result["screening"]["smallest_kept"].as_f64();
    let kept = kept.map(|kept| format!("; of what was screened, {:.0} %", kept.exp_m1() * 100.0));
    ["nothing".to_owned(), open.unwrap_or_default(), kept.unwrap_or_default()].concat()
}

#[test]
fn each_verdict_has_its_own_words_whatever_else_a_test_says() {
    let test = |verdict: &str, interval: &str| {
        let verdict = verdict.to_owned();
        let text = format!(
            r#"{{ "name": "x", "verdict": {verdict}, "smallest_effect": 0.0953102,
                "looks": [{{ "quads": 12, "mean": -0.1053605, "interval": {interval} }}] }}"#
        );
        found(&serde_json::from_str(&text).expect("JSON"))
    };
    let (none, some) = ("null", "[-0.2231436, -0.0512933]");
    for (verdict, interval, words) in [
        (r#""better""#, some, "-10.0 % (-20.0 to -5.0 %), 12 quads"),
        // Older results have such a verdict.
        (r#""better""#, none, "-10.0 % without an interval, 12 quads"),
        (r#""worse""#, none, "-10.0 % without an interval, 12 quads"),
        (r#""alike""#, some, "alike, -10.0 % (-20.0 to -5.0 %), 12 quads"),
        (r#"{ "alarm": "p99.9" }"#, some, "alarm of p99.9 after 12 quads"),
        (r#""cut_short""#, none, "cut short after 12 quads, nothing is claimed"),
        (r#""noisy""#, some, "too noisy after 12 quads"),
        (r#""open""#, none, "open after 12 quads, too few for a claim"),
        (r#""open""#, some, "open after 12 quads, which find 10 %"),
    ] {
        assert_eq!(test(verdict, interval), words, "{verdict}");
    }
    let none = r#"{ "name": "x", "verdict": "open", "smallest_effect": null, "looks": [], "failed": "exit status: 3" }"#;
    assert_eq!(found(&serde_json::from_str(none).expect("JSON")), "failed after 0 quads");
}

#[test]
fn a_gain_has_its_interval_and_what_is_open_says_what_would_have_been_found() {
    let found = r#"{
        "title": "A store, by its runtime", "seconds": 599.0,
        "knobs": ["transport", "thp"], "stock": ["inherited", "madvise"], "sku": ["unix", "madvise"],
        "tested": [
            { "name": "transport=unix", "verdict": "better", "smallest_effect": 0.1,
              "looks": [{ "quads": 16, "mean": -0.1053605, "interval": [-0.2231436, -0.0512933] }] },
            { "name": "thp=always", "verdict": "open", "smallest_effect": null,
              "looks": [{ "quads": 1, "mean": 0.1, "interval": null }] }
        ],
        "screening": { "smallest_kept": 0.0953102 },
        "confirmed": [],
        "untried": ["thp=never"]
    }"#;
    let row = "| A store, 10 min | transport=unix: -10.0 % (-20.0 to -5.0 %), 16 quads; thp=always: open after 1 quad, too few for \
               a claim | transport=unix | nothing; of what was screened, 10 % | none | 1 |";
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

#[test]
fn where_nothing_is_adopted_stands_what_tests_leave_open() {
    let result = |tested: &str| {
        let text = format!(
            r#"{{ "title": "A store", "seconds": 60.0, "knobs": ["thp"], "stock": ["madvise"], "sku": ["madvise"],
                "tested": [{tested}], "screening": {{ "smallest_kept": 0.0392207 }}, "confirmed": [], "untried": [] }}"#
        );
        let table = table(&[text]);
        table.lines().last().expect("a row").to_owned()
    };
    let test = |interval: &str| {
        format!(
            r#"{{ "name": "x", "verdict": "open", "smallest_effect": 0.0953102,
                "looks": [{{ "quads": 16, "mean": 0.0, "interval": {interval} }}] }}"#
        )
    };
    let two = [test("[-0.1053605, 0.0487902]"), test("[-0.0512933, 0.0953102]"), test("null")];
    let row = result(&two.join(", "));
    let open = "| nothing; tests leave -10.0 to +10.0 % open; of what was screened, 4 % |";
    assert!(row.contains(open), "{row}");
    let row = result(&test("null"));
    assert!(row.contains("| nothing; of what was screened, 4 % |"), "{row}");
}
