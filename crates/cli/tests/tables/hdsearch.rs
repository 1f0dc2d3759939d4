//! What HDSearch's indexes are worth: `tailwater-hdsearch frontier`.

use super::{head, line};
use tailwater_hdsearch::frontier::{Frontier, GOALS, Point};

fn read(result: &str) -> Frontier {
    serde_json::from_str(result).expect("what tailwater-hdsearch frontier --out writes")
}

/// How hard each set is to search, and what it was measured on: a line for each result.
pub(super) fn sets(results: &[String]) -> String {
    let (dimension, contrast) = ("intrinsic dimension", "relative contrast");
    let heads = ["set", "queries", dimension, contrast, "every point", "machine", "remarks"];
    let mut table = head(&heads.map(Into::into));
    for frontier in results.iter().map(|result| read(result)) {
        let Frontier { set, queries, shape, machine, remarks, all_us, .. } = frontier;
        let told = |number: Option<f64>, digits: usize| {
            number.map_or("–".to_owned(), |number| format!("{number:.digits$}"))
        };
        table += &line(&[
            set,
            queries.to_string(),
            told(shape.map(|shape| shape.dimension), 1),
            told(shape.map(|shape| shape.contrast), 2),
            us(all_us),
            machine,
            if remarks.is_empty() { "–".to_owned() } else { remarks.join("; ") },
        ]);
    }
    table
}

/// The settings that no other of the same index beats in recall@10 and in candidates.
pub(super) fn best(result: &str) -> String {
    let heads = [
        "index",
        "settings",
        "recall@1",
        "recall@10",
        "cosine",
        "candidates",
        "of all points",
        "compute",
        "latency",
    ];
    let (frontier, mut table) = (read(result), head(&heads.map(Into::into)));
    for point in unbeaten(&frontier) {
        let Point { index, settings, quality, compute_us, latency_us, .. } = point;
        table += &line(&[
            index.clone(),
            settings.clone(),
            format!("{:.2}", quality.recall_1),
            format!("{:.2}", quality.recall_10),
            format!("{:.3}", quality.cosine),
            format!("{:.0}", quality.candidates),
            format!("{:.2} %", 100.0 * frontier.share(point)),
            us(compute_us.p50),
            us(latency_us.p50),
        ]);
    }
    table
}

/// The goals, and for each index what reaches them with the fewest candidates.
pub(super) fn goals(result: &str) -> String {
    let reached = "reached with the fewest candidates by";
    let below = "queries below 0.93";
    let heads = ["goal", "index", reached, "recall@1", "recall@10", below, "latency"];
    let (frontier, mut table) = (read(result), head(&heads.map(Into::into)));
    for goal in &GOALS {
        for index in frontier.indexes() {
            let found = goal.reached(&frontier, index).map_or(
                ["none of these", "–", "–", "–", "–"].map(Into::into),
                |Point { settings, quality, inaccurate, latency_us, .. }| {
                    let recalls = [quality.recall_1, quality.recall_10];
                    let [one, ten] = recalls.map(|recall| format!("{recall:.2}"));
                    let below = inaccurate.map(|share| format!("{:.1} %", 100.0 * share));
                    let below = below.unwrap_or_else(|| "–".to_owned());
                    [settings.clone(), one, ten, below, us(latency_us.p50)]
                },
            );
            let named = [goal.about.to_owned(), index.to_owned()];
            table += &line(&[&named[..], &found].concat());
        }
    }
    table
}

fn us(time: f64) -> String {
    format!("{time:.0} µs")
}

/// By index as they were measured, and by candidates.
fn unbeaten(frontier: &Frontier) -> Vec<&Point> {
    let beats = |other: &Point, point: &Point| {
        let (other_is, it_is) = (other.quality, point.quality);
        other.index == point.index
            && other_is.recall_10 >= it_is.recall_10
            && other_is.candidates <= it_is.candidates
            && (other_is.recall_10 > it_is.recall_10 || other_is.candidates < it_is.candidates)
    };
    let measured = &frontier.measured;
    let is_unbeaten = |point: &&Point| !measured.iter().any(|other| beats(other, point));
    let mut best: Vec<&Point> = measured.iter().filter(is_unbeaten).collect();
    let place = |point: &Point| measured.iter().position(|other| other.index == point.index);
    best.sort_by(|one, other| {
        let index = place(one).cmp(&place(other));
        index.then(one.quality.candidates.total_cmp(&other.quality.candidates))
    });
    best
}

#[test]
fn the_best_are_those_that_no_other_beats_and_goals_are_reached_by_the_cheapest() {
    let point = |index: &str, recall: f64, candidates: f64| {
        format!(
            r#"{{"index":"{index}","settings":"of {candidates}","index_bytes":1,
            "quality":{{"recall_1":0.5,"recall_10":{recall},"cosine":0.5,"candidates":{candidates}}},
            "compute_us":{{"p50":2,"p99":3}},"latency_us":{{"p50":7.6,"p99":9}}}}"#
        )
    };
    let points = [
        point("lsh", 0.95, 50.0),
        point("lsh", 0.95, 40.0),
        point("lsh", 0.9, 45.0),
        point("lsh", 0.2, 10.0),
        point("ivf", 0.1, 90.0),
    ];
    let result = format!(
        r#"{{"set":"","points":1000,"dimensions":1,"shape":null,"queries":1,"neighbours":10,"leaves":1,
        "machine":"","all_us":1,"measured":[{}]}}"#,
        points.join(",")
    );
    let table = best(&result);
    let settings = table.lines().skip(2).map(|row| row.split(" | ").nth(1).expect("a cell"));
    assert_eq!(settings.collect::<Vec<_>>(), ["of 10", "of 40", "of 90"]);
    assert!(
        table.ends_with("| ivf | of 90 | 0.50 | 0.10 | 0.500 | 90 | 9.00 % | 2 µs | 8 µs |\n"),
        "{table}"
    );
    let remarked = result.replace("\"all_us\":1", "\"remarks\":[\"busy\",\"old\"],\"all_us\":2");
    let sets = sets(&[result.replace("\"set\":\"\"", "\"set\":\"some\""), remarked]);
    let rows: Vec<&str> = sets.lines().skip(2).collect();
    assert_eq!(rows[0], "| some | 1 | – | – | 1 µs |  | – |");
    assert!(rows[1].ends_with("| 2 µs |  | busy; old |"), "{sets}");
    let goals = goals(&result);
    let rows: Vec<&str> = goals.lines().skip(4).take(2).collect();
    let about = GOALS[1].about;
    assert_eq!(
        rows,
        [
            format!("| {about} | lsh | of 40 | 0.50 | 0.95 | – | 8 µs |"),
            format!("| {about} | ivf | none of these | – | – | – | – |"),
        ]
    );
    let counted = result.replace("\"index_bytes\":1", "\"index_bytes\":1,\"inaccurate\":0.125");
    let counted = self::goals(&counted);
    assert!(counted.contains("| of 40 | 0.50 | 0.95 | 12.5 % | 8 µs |"), "{counted}");
}
