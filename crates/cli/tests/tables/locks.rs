//! What a lock costs beside its twin: `benches/locks`.

use super::{head, line};
use serde::Deserialize;
use tailwater_stats::result::Spread;

#[derive(Deserialize)]
struct Report {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    case: String,
    lock: String,
    twin: String,
    ns: Vec<f64>,
}

/// A line for each lock that has a twin: medians over the rounds, and their ratio.
pub(super) fn table(result: &str) -> String {
    let Report { cases } = serde_json::from_str(result).expect("a result of benches/locks");
    let heads = ["", "lock", "ns", "twin", "ns", "×"];
    let mut text = head(&heads.map(Into::into));
    for Case { case, lock, twin, ns } in &cases {
        let is_twin = |other: &&Case| other.case == *case && other.lock == *twin;
        let Some(other) = cases.iter().find(is_twin) else { continue };
        let [ours, theirs] = [ns, &other.ns].map(|ns| Spread::of(ns).median);
        text += &line(&[
            case.clone(),
            lock.clone(),
            format!("{ours:.1}"),
            twin.clone(),
            format!("{theirs:.1}"),
            format!("{:.2}", ours / theirs),
        ]);
    }
    text
}

#[test]
fn a_lock_stands_beside_its_twin_of_the_same_case() {
    let found = r#"{ "cases": [
        { "case": "alone", "lock": "ours", "twin": "other", "ns": [9.0, 5.0, 6.0] },
        { "case": "two", "lock": "other", "twin": "", "ns": [70.0] },
        { "case": "alone", "lock": "other", "twin": "", "ns": [3.0, 4.0, 5.0] }
    ] }"#;
    let table = table(found);
    assert!(table.ends_with("|---|\n| alone | ours | 6.0 | other | 4.0 | 1.50 |\n"), "{table}");
}
