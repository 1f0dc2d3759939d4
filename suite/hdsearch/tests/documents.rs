//! The tables of `docs/hdsearch.md` are those of `results/hdsearch-frontier.json`, and that holds what the page claims.

use std::path::Path;
use tailwater_hdsearch::frontier::{Frontier, GOALS};

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(path)).expect(path)
}

fn frontier() -> Frontier {
    serde_json::from_str(&read("results/hdsearch-frontier.json")).expect("a frontier")
}

#[test]
fn tables_are_drawn_from_the_result() {
    let drawn = frontier().markdown();
    let page = read("docs/hdsearch.md");
    assert!(page.contains(&drawn), "put these into docs/hdsearch.md:\n{drawn}");
}

#[test]
fn the_goals_are_reached() {
    let frontier = frontier();
    assert_eq!((frontier.points, frontier.dimensions), (400_000, 50));
    for goal in &GOALS {
        let reached =
            frontier.indexes().into_iter().any(|index| goal.reached(&frontier, index).is_some());
        assert!(reached, "{}", goal.about);
    }
}
