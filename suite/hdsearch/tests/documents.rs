//! The frontiers in `results/` hold what `docs/hdsearch.md` claims of them. Its tables are drawn by the tests of `crates/cli`.

use std::path::{Path, PathBuf};
use tailwater_hdsearch::frontier::{Frontier, GOALS};
use tailwater_kernels::Level;

fn results() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results")
}

/// The names of all frontiers that are there: generated words, and GloVe's.
fn frontiers() -> Vec<String> {
    let entries = std::fs::read_dir(results()).expect("a folder of results");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let names = names.filter_map(|name| name.into_string().ok());
    names.filter(|name| name.starts_with("hdsearch-")).collect()
}

fn frontier(name: &str) -> Frontier {
    let text = std::fs::read_to_string(results().join(name)).expect(name);
    serde_json::from_str(&text).expect("a frontier")
}

#[test]
fn the_goals_are_reached() {
    let names = frontiers();
    for needed in ["hdsearch-frontier.json", "hdsearch-glove.json"] {
        assert!(names.iter().any(|name| name == needed), "{names:?}");
    }
    for name in names {
        let frontier = frontier(&name);
        // Of a text, queries are held out; generated ones are made beside the points.
        let held_out = if frontier.set.contains("generated") { 0 } else { frontier.queries };
        let vectors = frontier.points + held_out;
        assert_eq!((vectors, frontier.dimensions), (400_000, 50), "{name}");
        for goal in &GOALS {
            let reached = frontier
                .indexes()
                .into_iter()
                .any(|index| goal.reached(&frontier, index).is_some());
            assert!(reached, "{name}: {}", goal.about);
        }
    }
}

/// `machine` is what the program writes, and nothing else: what people add is a remark.
#[test]
fn nothing_but_the_program_says_the_machine() {
    for name in frontiers() {
        let machine = frontier(&name).machine;
        let level = machine.rsplit_once(" CPUs, kernels by ").map(|(_, level)| level);
        let is_level = level.is_some_and(|level| level.parse::<Level>().is_ok());
        assert!(is_level, "{name}: {machine}");
    }
}
