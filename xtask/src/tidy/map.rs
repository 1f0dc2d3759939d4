//! ARCHITECTURE.md as a map: what it names exists, and what exists it names.

use super::Problem;
use crate::markdown::spans;
use crate::tree::Tree;

const MAP: &str = "ARCHITECTURE.md";
/// A word without a folder is taken for a path when it ends so.
const ENDINGS: &[&str] = &[".rs", ".toml", ".md", ".sh", ".c", ".h", ".cpp"];

/// Every path in backticks exists, counted from the root or from inside any folder.
pub(super) fn paths_exist(tree: &Tree) -> Vec<Problem> {
    let Some(text) = tree.text(MAP) else {
        return vec![Problem::new(
            MAP,
            "found no such file",
            "write the map of crates and invariants",
        )];
    };
    let named = spans(text).into_iter().filter(|(_, span)| is_path(span));
    let missing = named.filter(|(_, path)| !tree.has(path));
    missing
        .map(|(line, path)| {
            let mend = "name what is there now, or take the backticks off what is only planned";
            Problem::new(
                format!("{MAP}:{line}"),
                format!("found `{path}`, which does not exist"),
                mend,
            )
        })
        .collect()
}

/// Every folder in `crates/` is named, as `crates/NAME`, `NAME/` or, in backticks, `NAME`.
pub(super) fn crates_are_named(tree: &Tree) -> Vec<Problem> {
    let text = tree.text(MAP).unwrap_or_default();
    let words: Vec<&str> = text.split(|c: char| !is_path_char(c)).collect();
    let spans = spans(text);
    let is_named = |name: &str| {
        let full = format!("crates/{name}");
        let package = format!("tailwater-{name}");
        words.iter().any(|word| {
            let bare = word.trim_end_matches('/');
            bare == full || (bare == name && word.ends_with('/'))
        }) || spans.iter().any(|(_, span)| *span == name || *span == package)
    };
    let unnamed = tree.crates().into_iter().filter(|name| !is_named(name));
    unnamed
        .map(|name| {
            let mend =
                format!("add a line for `crates/{name}` that says what it does and never will");
            Problem::new(MAP, format!("found nothing about crates/{name}"), mend)
        })
        .collect()
}

/// Whether a span means a file or folder: path characters only, and either a folder or an ending
/// that only files have. Placeholders in capitals (`scenarios/NAME.toml`) are none.
fn is_path(span: &str) -> bool {
    let shaped =
        span.chars().all(is_path_char) && span.starts_with(|c: char| c.is_alphabetic() || c == '.');
    let placeholder = span
        .split(['/', '.'])
        .any(|part| part.len() > 1 && part.chars().all(|c| c.is_ascii_uppercase()));
    // Documents are written in capitals, so an existing kind of ending outweighs the placeholder.
    let document = !span.contains('/') && span.ends_with(".md");
    shaped
        && (!placeholder || document)
        && (span.contains('/') || ENDINGS.iter().any(|ending| span.ends_with(ending)))
}

fn is_path_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-./*{},".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(problems: &[Problem]) -> Vec<&str> {
        problems.iter().map(|problem| problem.place.as_str()).collect()
    }

    #[test]
    fn a_vanished_path_is_named_with_its_line() {
        let text = "# Map\n`crates/core/` is there, `crates/{core,gone}/` half,\n`src/gone.rs` not,\n\
                    `a::b`, `x = 1`, `scenarios/NAME.toml` and `README.md` are other things.\n";
        let tree = Tree::from([(MAP, text), ("crates/core/Cargo.toml", "")]);
        let problems = paths_exist(&tree);
        assert_eq!(
            places(&problems),
            ["ARCHITECTURE.md:2", "ARCHITECTURE.md:3", "ARCHITECTURE.md:4"]
        );
        assert!(problems[1].found.contains("src/gone.rs"));
    }

    #[test]
    fn a_crate_may_be_named_in_three_ways_but_not_in_passing() {
        let text = "- `crates/core`\n- control/  the law\n- `sim`\nThe wire is long.\n";
        let tree = Tree::from([
            (MAP, text),
            ("crates/core/Cargo.toml", ""),
            ("crates/control/Cargo.toml", ""),
            ("crates/sim/Cargo.toml", ""),
            ("crates/wire/Cargo.toml", ""),
        ]);
        let problems = crates_are_named(&tree);
        assert_eq!(problems.len(), 1);
        assert!(problems[0].found.contains("crates/wire"));
    }
}
