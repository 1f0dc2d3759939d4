//! What servers get through while they are attached to: `profile attached` of `benches/profile`.

use super::{head, line, with_range};
use serde::Deserialize;
use tailwater_report::time;
use tailwater_stats::result::Spread;

#[derive(Deserialize)]
struct Report {
    title: String,
    /// A server that nobody attaches to, and one that is attached to.
    pairs: Vec<[Phases; 2]>,
}

/// Before, while and after it is attached to, or the same times of the other one.
type Phases = [Phase; 3];

#[derive(Deserialize)]
struct Phase {
    answered: f64,
    p99_us: f64,
    p999_us: f64,
}

/// Two lines for each server: throughput of both phases over that before, and the percentiles of its clients.
pub(super) fn table(results: &[String]) -> String {
    let heads = [
        "",
        "while attached ÷ before",
        "after ÷ before",
        "clients' p99: before, while",
        "p99.9: before, while",
    ];
    let mut text = head(&heads.map(Into::into));
    for result in results {
        let Report { title, pairs } =
            serde_json::from_str(result).expect("a result of `profile attached`");
        for (which, kind) in [(1, "attached"), (0, "nobody attaches")] {
            let of = |read: &dyn Fn(&Phases) -> f64| -> Vec<f64> {
                pairs.iter().map(|pair| read(&pair[which])).collect()
            };
            let percentiles = |read: fn(&Phase) -> f64| {
                let median = |phase: usize| time(Spread::of(&of(&|it| read(&it[phase]))).median);
                format!("{}, {}", median(0), median(1))
            };
            text += &line(&[
                format!("{title}, {kind}"),
                with_range(&of(&|[before, during, _]| during.answered / before.answered)),
                with_range(&of(&|[before, _, after]| after.answered / before.answered)),
                percentiles(|it| it.p99_us),
                percentiles(|it| it.p999_us),
            ]);
        }
    }
    text
}

#[test]
fn each_phase_is_held_against_the_one_before() {
    let phase = |answered: u64| {
        format!(r#"{{ "answered": {answered}, "p99_us": {answered}, "p999_us": 500 }}"#)
    };
    let phases = |answered: [u64; 3]| format!("[{}]", answered.map(phase).join(","));
    let (alone, attached) = (phases([100, 100, 90]), phases([100, 60, 95]));
    let result = format!(r#"{{ "title": "Redis", "pairs": [[{alone}, {attached}]] }}"#);
    let found = table(&[result]);
    let first = "| Redis, attached | 0.60 [0.60–0.60] | 0.95 [0.95–0.95] | 100 µs, 60.0 µs | 500 µs, 500 µs |\n";
    let second = "| Redis, nobody attaches | 1.00 [1.00–1.00] | 0.90 [0.90–0.90] | 100 µs, 100 µs | 500 µs, 500 µs |\n";
    assert!(found.ends_with(&format!("{first}{second}")), "{found}");
}
