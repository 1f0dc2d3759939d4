//! How long the first run of each service takes, with nothing prepared: `benches/firstrun`.

use super::{head, line};
use serde::Deserialize;

#[derive(Deserialize)]
struct Found {
    services: Vec<First>,
}

#[derive(Deserialize)]
struct First {
    service: String,
    first_s: f64,
    data_s: f64,
    runs: u64,
    valid: u64,
    /// None in files of before it was counted.
    repeated: Option<u64>,
}

/// A line for each service. What is not data is told for each run, those that were repeated included.
pub(super) fn table(result: &str) -> String {
    let Found { services } = serde_json::from_str(result).expect("what firstrun --out writes");
    let heads = [
        "service",
        "first run",
        "of it data",
        "runs that count",
        "repeated for noise",
        "the rest, for each run",
    ];
    let mut table = head(&heads.map(Into::into));
    for First { service, first_s, data_s, runs, valid, repeated } in services {
        let rest = repeated.map(|again| (first_s - data_s) / (runs + again) as f64);
        table += &line(&[
            format!("`{service}`"),
            format!("{first_s:.0} s"),
            format!("{data_s:.1} s"),
            format!("{valid} of {runs}"),
            repeated.map_or_else(|| "–".into(), |again| again.to_string()),
            rest.map_or_else(|| "–".into(), |rest| format!("{rest:.1} s")),
        ]);
    }
    table
}

#[test]
fn each_service_has_a_line() {
    let result =
        r#"{"services":[{"service":"router","first_s":40.4,"data_s":0.04,"runs":18,"valid":17}]}"#;
    let wanted = "| `router` | 40 s | 0.0 s | 17 of 18 | – | – |\n";
    assert!(table(result).ends_with(wanted), "{}", table(result));
    let counted = table(&result.replace("\"valid\":17", "\"valid\":17,\"repeated\":2"));
    assert!(counted.ends_with(" | 17 of 18 | 2 | 2.0 s |\n"), "{counted}");
}

/// As docs/data.md says.
#[test]
fn the_first_success_comes_within_a_minute_but_for_hdsearch() {
    let result = crate::read("results/firstrun.json");
    let Found { services } = serde_json::from_str(&result).expect("a result");
    assert!(services.len() == 4 && services.iter().all(|it| it.valid > 0), "each counts");
    for First { service, first_s, .. } in services {
        assert!(first_s <= 60.0 || service == "hdsearch", "{service}: {first_s} s");
    }
}
