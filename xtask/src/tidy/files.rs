//! What holds for every file: it suits any machine, and it can be read in one sitting.

use super::Problem;
use crate::tree::Tree;

/// Past this a source file holds more than one idea.
const LINES_MAX: usize = 600;
/// Folders that exist on one person's machine only. Split, so that this file does not find itself.
const PRIVATE: &[&str] =
    &[concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/wo", "rk/"), concat!("/Us", "ers/")];

/// No text names a home or work folder.
pub(super) fn no_private_paths(tree: &Tree) -> Vec<Problem> {
    let lines = tree.matching("", "").flat_map(|(path, text)| {
        text.lines().enumerate().map(move |(index, line)| (path, index + 1, line))
    });
    lines
        .filter_map(|(path, number, line)| {
            let folder = PRIVATE.iter().find(|folder| is_absolute_in(line, folder))?;
            let mend = "write a path from the repository's root, or take it from the environment";
            Some(Problem::new(
                format!("{path}:{number}"),
                format!("found a path below {folder}"),
                mend,
            ))
        })
        .collect()
}

/// Source files keep below [`LINES_MAX`] lines.
pub(super) fn short_enough(tree: &Tree) -> Vec<Problem> {
    let counted = tree.matching("", ".rs").map(|(path, text)| (path, text.lines().count()));
    let long = counted.filter(|(_, lines)| *lines > LINES_MAX);
    long.map(|(path, lines)| {
        let found = format!("found {lines} lines, at most {LINES_MAX} are read with pleasure");
        Problem::new(path, found, "ask which two things it does, and give each a file")
    })
    .collect()
}

/// Whether `folder` begins a path in `line`, rather than going on one (`results/…`, a web address).
fn is_absolute_in(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric() && !"._-~/*>})$".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_private_paths_are_found_and_relative_ones_left() {
        let bad = format!("one\nlet x = \"{}me/x\";\n", PRIVATE[0]);
        let good = format!("see notes{0}x and https://example.org{0}x and $HOME{0}\n", PRIVATE[2]);
        let tree = Tree::from([("a.rs", bad.as_str()), ("b.md", good.as_str())]);
        let problems = no_private_paths(&tree);
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].place, "a.rs:2");
    }

    #[test]
    fn long_sources_are_reported_and_data_is_not() {
        let (fits, long) = ("x\n".repeat(LINES_MAX), "x\n".repeat(LINES_MAX + 1));
        let tree = Tree::from([("a.rs", fits.as_str()), ("b.rs", &long), ("c.json", &long)]);
        let problems = short_enough(&tree);
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].place, "b.rs");
    }
}
