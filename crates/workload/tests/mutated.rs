//! Scenario files with random damage: an answer with a place in the file, never a panic.

use proptest::prelude::*;
use tailwater_workload::limits;
use tailwater_workload::{Scenario, ScenarioError};

const FILES: [&str; 5] = [
    include_str!("../../../scenarios/overload.toml"),
    include_str!("../../../scenarios/spike.toml"),
    include_str!("../../../scenarios/breakdown.toml"),
    include_str!("../../../scenarios/key-value.toml"),
    include_str!("../../../scenarios/chain.toml"),
];

/// Fragments that lead astray: wrong types, huge numbers, nesting, half syntax, many bytes a letter.
const FRAGMENTS: [&str; 20] = [
    "[",
    "]",
    "{",
    "}",
    "\"",
    "'''",
    "=",
    "\n",
    "-1",
    "1e400",
    "nan",
    "99999999999999999999",
    "0xff",
    "[[[[",
    "µ",
    "💧",
    "1979-05-27",
    "true",
    "[server]\n",
    "a.b.c = 1\n",
];

/// The text with `fragment` in place of `length` characters from the `at`-th of a thousandth on.
fn damage(text: &str, at: usize, length: usize, fragment: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let from = at * characters.len() / 1_000;
    let to = (from + length).min(characters.len());
    let head = characters[..from].iter();
    let tail = characters[to..].iter();
    head.copied().chain(fragment.chars()).chain(tail.copied()).collect()
}

fn check(text: &str, error: &ScenarioError) {
    assert!(!error.problems.is_empty());
    assert!(error.problems.len() <= limits::PROBLEMS_MAX);
    assert!(error.problems.is_sorted_by_key(|problem| problem.place));
    let lines = text.split('\n').count();
    for problem in &error.problems {
        assert!((1..=lines).contains(&problem.place.line), "{error}");
        assert!(problem.place.column >= 1, "{error}");
        assert!(!problem.message.contains('\n'), "{error}");
    }
}

proptest! {
    #[test]
    fn damaged_files_are_answered(
        file in 0..FILES.len(),
        wounds in prop::collection::vec((0..1_000_usize, 0..30_usize, 0..FRAGMENTS.len()), 1..6),
    ) {
        let text = wounds.iter().fold(FILES[file].to_owned(), |text, &(at, length, fragment)| {
            damage(&text, at, length, FRAGMENTS[fragment])
        });
        match Scenario::parse("damaged.toml", &text) {
            Ok(scenario) => {
                let runs = scenario.configurations().len() * scenario.controllers.len();
                prop_assert_eq!(scenario.runs(), runs as u64 * u64::from(scenario.repetitions));
                prop_assert!(scenario.shorten().runs() > 0);
            }
            Err(error) => check(&text, &error),
        }
    }

    #[test]
    fn any_text_is_answered(text in "\\PC{0,300}") {
        if let Err(error) = Scenario::parse("any.toml", &text) {
            check(&text, &error);
        }
    }
}
