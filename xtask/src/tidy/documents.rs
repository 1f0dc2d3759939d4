//! What the documents owe their readers.

use super::Problem;
use crate::tree::Tree;

const CHANGELOG: &str = "CHANGELOG.md";

/// The changelog has a place for the next change.
pub(super) fn changelog_is_open(tree: &Tree) -> Vec<Problem> {
    let text = tree.text(CHANGELOG).unwrap_or_default();
    if text.lines().any(|line| line.trim_end() == "## [Unreleased]") {
        return vec![];
    }
    vec![Problem::new(
        CHANGELOG,
        "found no Unreleased section",
        "add a line `## [Unreleased]` above the newest",
    )]
}

/// A scenario's first line is a comment that says what it shows.
pub(super) fn scenarios_say_why(tree: &Tree) -> Vec<Problem> {
    let silent = tree.matching("scenarios/", ".toml").filter(|(_, text)| {
        let first = text.lines().next().unwrap_or_default();
        first.strip_prefix('#').is_none_or(|comment| comment.trim().is_empty())
    });
    silent
        .map(|(path, _)| {
            let mend = "begin with `# ` and a sentence that says what the experiment shows";
            Problem::new(format!("{path}:1"), "found no comment on the first line", mend)
        })
        .collect()
}

/// A user can learn of every scenario from README.md, BENCHMARKING.md or docs/.
pub(super) fn scenarios_are_mentioned(tree: &Tree) -> Vec<Problem> {
    let read: String = ["README.md", "BENCHMARKING.md"]
        .into_iter()
        .filter_map(|path| tree.text(path))
        .chain(tree.matching("docs/", ".md").map(|(_, text)| text))
        .collect();
    // Scenarios in a folder of their own are parts of tests.
    let public =
        tree.matching("scenarios/", ".toml").filter(|(path, _)| path.matches('/').count() == 1);
    let unknown = public.filter(|(path, _)| !read.contains(path));
    unknown
        .map(|(path, _)| {
            let mend = format!("say in README.md, BENCHMARKING.md or docs/ what {path} is for");
            Problem::new(path, "found no document that mentions it by its path", mend)
        })
        .collect()
}

/// A reader finds every page of docs/ from README.md, and every claim's from BENCHMARKING.md.
pub(super) fn pages_are_listed(tree: &Tree) -> Vec<Problem> {
    let unlisted = tree.matching("docs/", ".md").filter_map(|(path, _)| {
        let list = if path.starts_with("docs/claims/") { "BENCHMARKING.md" } else { "README.md" };
        let is_listed = tree.text(list).is_some_and(|text| text.contains(path));
        (!is_listed).then_some((path, list))
    });
    unlisted
        .map(|(path, list)| {
            let mend = format!("say in {list} what {path} is about");
            Problem::new(path, format!("found no mention of it in {list}"), mend)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changelog_needs_its_open_section() {
        let open = Tree::from([(CHANGELOG, "# Changelog\n\n## [Unreleased]\n")]);
        assert!(changelog_is_open(&open).is_empty());
        let closed = Tree::from([(CHANGELOG, "# Changelog\n\n## [0.1.0]\nUnreleased\n")]);
        assert_eq!(changelog_is_open(&closed).len(), 1);
    }

    #[test]
    fn scenarios_are_introduced_and_mentioned() {
        let tree = Tree::from([
            ("README.md", "Try `tailwater run scenarios/a.toml`."),
            ("docs/x.md", "scenarios/b.toml steps."),
            ("scenarios/a.toml", "# Shows a.\n"),
            ("scenarios/b.toml", "seed = 1\n# Late.\n"),
            ("scenarios/c.toml", "#\n"),
            ("scenarios/broken/d.toml", "# Parts of a test need no mention.\n"),
        ]);
        let silent: Vec<_> = scenarios_say_why(&tree).into_iter().map(|p| p.place).collect();
        assert_eq!(silent, ["scenarios/b.toml:1", "scenarios/c.toml:1"]);
        let unknown: Vec<_> = scenarios_are_mentioned(&tree).into_iter().map(|p| p.place).collect();
        assert_eq!(unknown, ["scenarios/c.toml"]);
    }

    /// A page of figures was named by the changelog alone.
    #[test]
    fn pages_are_found_from_the_first_one_and_claims_from_the_measurements() {
        let tree = Tree::from([
            ("README.md", "| `docs/a.md` | a |\n| `docs/claims/` | claims |\n"),
            ("BENCHMARKING.md", "`docs/claims/c.md` says why; so does docs/b.md."),
            (CHANGELOG, "docs/b.md and docs/claims/d.md are new."),
            ("docs/a.md", "a"),
            ("docs/b.md", "b"),
            ("docs/claims/c.md", "c"),
            ("docs/claims/d.md", "d"),
        ]);
        let unlisted: Vec<_> = pages_are_listed(&tree).into_iter().map(|p| p.place).collect();
        assert_eq!(unlisted, ["docs/b.md", "docs/claims/d.md"]);
    }
}
