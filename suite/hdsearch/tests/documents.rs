//! The tables of `docs/hdsearch.md` are those of the frontiers in `results/`, and these hold what the page claims.

use std::path::{Path, PathBuf};
use tailwater_hdsearch::frontier::{Frontier, GOALS};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).expect(path)
}

fn frontier(name: &str) -> Frontier {
    serde_json::from_str(&read(&format!("results/{name}"))).expect("a frontier")
}

#[test]
fn tables_are_drawn_from_the_results() {
    let page = read("docs/hdsearch.md");
    let entries = std::fs::read_dir(root().join("results")).expect("a folder of results");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let names = names.filter_map(|name| name.into_string().ok());
    let frontiers: Vec<String> = names.filter(|name| name.starts_with("hdsearch-")).collect();
    assert!(!frontiers.is_empty());
    for name in frontiers {
        let drawn = frontier(&name).markdown();
        assert!(page.contains(&drawn), "put these of {name} into docs/hdsearch.md:\n{drawn}");
    }
}

#[test]
fn the_goals_are_reached() {
    let frontier = frontier("hdsearch-frontier.json");
    assert_eq!((frontier.points, frontier.dimensions), (400_000, 50));
    for goal in &GOALS {
        let reached =
            frontier.indexes().into_iter().any(|index| goal.reached(&frontier, index).is_some());
        assert!(reached, "{}", goal.about);
    }
}
