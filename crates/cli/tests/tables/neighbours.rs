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
}

/// Of the ten nearest points, the share that must be found.
const LEVELS: [f64; 4] = [0.8, 0.9, 0.95, 0.99];

/// An index at a recall: its time, and between which settings.
struct At {
    us: f64,
    settings: String,
}

/// A line for each recall and index, with its time at that recall: between the two settings around it, in proportion. The
/// nearest setting that reaches it would have the recall of another line, and so another's time.
pub(super) fn table(result: &str) -> String {
    let Found { rows } = serde_json::from_str(result).expect("what neighbours --out writes");
    let heads = ["recall@10", "index", "p50", "between", "p50 ÷ the least"];
    let mut indexes: Vec<&str> = rows.iter().map(|row| &*row.index).collect();
    indexes.dedup();
    let mut text = head(&heads.map(Into::into));
    for level in LEVELS {
        let found: Vec<Option<At>> = indexes.iter().map(|index| at(&rows, index, level)).collect();
        let least = found.iter().flatten().map(|at| at.us).min_by(f64::total_cmp);
        for (index, found) in indexes.iter().zip(found) {
            let mut cells = vec![format!("{level:.2}"), (*index).to_owned()];
            cells.extend(match (found, least) {
                (Some(At { us, settings }), Some(least)) => {
                    [time(us), settings, format!("{:.1}", us / least)]
                }
                _ => ["–", "none of these", "–"].map(Into::into),
            });
            text += &line(&cells);
        }
    }
    text
}

/// Settings stand in the order of their recall. `None`: none is above the level, or none below.
fn at(rows: &[Setting], index: &str, level: f64) -> Option<At> {
    let of_index: Vec<&Setting> = rows.iter().filter(|row| row.index == index).collect();
    let above = of_index.iter().position(|row| row.recall_10 >= level)?;
    let (low, high) = (of_index.get(above.checked_sub(1)?)?, of_index[above]);
    let share = (level - low.recall_10) / (high.recall_10 - low.recall_10);
    let us = low.p50_us + share * (high.p50_us - low.p50_us);
    Some(At { us, settings: format!("{} and {}", low.settings, high.settings) })
}

#[test]
fn a_recall_between_two_settings_has_a_time_between_theirs() {
    let row = |index: &str, settings: &str, recall: f64, us: f64| {
        format!(
            r#"{{"index":"{index}","settings":"{settings}","recall_10":{recall},"p50_us":{us}}}"#
        )
    };
    let rows = [
        row("lists", "few", 0.75, 100.0),
        row("lists", "more", 0.85, 200.0),
        row("lists", "most", 0.96, 300.0),
        row("graph", "one", 0.79, 50.0),
        row("graph", "two", 0.99, 250.0),
    ];
    let text = table(&format!(r#"{{"rows":[{}]}}"#, rows.join(",")));
    let found: Vec<&str> = text.lines().skip(2).collect();
    assert_eq!(found.len(), LEVELS.len() * 2, "{text}");
    assert_eq!(found[0], "| 0.80 | lists | 150 µs | few and more | 2.5 |");
    assert_eq!(found[1], "| 0.80 | graph | 60.0 µs | one and two | 1.0 |");
    assert_eq!(found[6], "| 0.99 | lists | – | none of these | – |");
}
