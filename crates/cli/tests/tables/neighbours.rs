//! HDSearch's indexes beside other libraries at equal recall: `benches/neighbours`.

use super::{head, line};
use serde::Deserialize;
use tailwater_report::time;

#[derive(Deserialize)]
struct Found {
    rows: Vec<Setting>,
}

#[derive(Deserialize)]
struct Setting {
    index: String,
    settings: String,
    recall_10: f64,
    p50_us: f64,
    p99_us: f64,
}

/// Of the ten nearest points, the share that must be found.
const LEVELS: [f64; 4] = [0.8, 0.9, 0.95, 0.99];

/// A line for each recall and index: the setting that needs least time of those that reach it.
pub(super) fn table(result: &str) -> String {
    let Found { rows } = serde_json::from_str(result).expect("what neighbours --out writes");
    let heads = [
        "recall@10, at least",
        "index",
        "setting",
        "its recall@10",
        "p50",
        "p99",
        "p50 ÷ the least",
    ];
    let mut indexes: Vec<&str> = rows.iter().map(|row| &*row.index).collect();
    indexes.dedup();
    let mut text = head(&heads.map(Into::into));
    for level in LEVELS {
        let reaching = || rows.iter().filter(|row| row.recall_10 >= level);
        let least = reaching().map(|row| row.p50_us).min_by(f64::total_cmp);
        for index in &indexes {
            let of_index = reaching().filter(|row| row.index == *index);
            let quickest = of_index.min_by(|one, other| one.p50_us.total_cmp(&other.p50_us));
            let mut cells = vec![format!("{level:.2}"), (*index).to_owned()];
            cells.extend(match (quickest, least) {
                (Some(row), Some(least)) => [
                    row.settings.clone(),
                    format!("{:.3}", row.recall_10),
                    time(row.p50_us),
                    time(row.p99_us),
                    format!("{:.1}", row.p50_us / least),
                ],
                _ => ["none of these", "–", "–", "–", "–"].map(Into::into),
            });
            text += &line(&cells);
        }
    }
    text
}

#[test]
fn the_quickest_setting_that_reaches_a_recall_stands_there() {
    let row = |index: &str, settings: &str, recall: f64, us: f64| {
        format!(
            r#"{{"index":"{index}","settings":"{settings}","recall_10":{recall},"p50_us":{us},"p99_us":{}}}"#,
            2.0 * us
        )
    };
    let rows = [
        row("lists", "wide", 0.96, 300.0),
        row("lists", "odd", 0.91, 400.0),
        row("lists", "few", 0.85, 100.0),
        row("graph", "one", 0.99, 150.0),
    ];
    let text = table(&format!(r#"{{"rows":[{}]}}"#, rows.join(",")));
    let found: Vec<&str> = text.lines().skip(2).collect();
    assert_eq!(found.len(), LEVELS.len() * 2, "{text}");
    assert_eq!(found[0], "| 0.80 | lists | few | 0.850 | 100 µs | 200 µs | 1.0 |");
    assert_eq!(found[1], "| 0.80 | graph | one | 0.990 | 150 µs | 300 µs | 1.5 |");
    assert_eq!(found[2], "| 0.90 | lists | wide | 0.960 | 300 µs | 600 µs | 2.0 |");
    assert_eq!(found[6], "| 0.99 | lists | none of these | – | – | – | – |");
}
