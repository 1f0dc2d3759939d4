//! Tests of a crate's folder `tests/` are one program: each further one is compiled and linked by itself, which takes up
//! to a second of CPU in every run of CI.

use super::Problem;
use crate::tree::Tree;
use std::collections::BTreeSet;

const EACH_FOR_ITSELF: &str = "autotests = false";
const PROGRAM: &str = "[[test]]";

/// A crate has one test program, and beside it those whose `[[test]]` says above it why they stay apart. Each file of tests
/// belongs to one.
pub(super) fn are_few(tree: &Tree) -> Vec<Problem> {
    let manifests = tree.matching("", "Cargo.toml");
    manifests.flat_map(|(manifest, text)| of_package(tree, manifest, text)).collect()
}

fn of_package(tree: &Tree, manifest: &str, text: &str) -> Vec<Problem> {
    let tests = format!("{}tests/", manifest.trim_end_matches("Cargo.toml"));
    let roots = roots(tree, &tests);
    if !text.lines().any(|line| line == EACH_FOR_ITSELF) {
        return if roots.len() > 1 { vec![many(manifest, roots.len())] } else { Vec::new() };
    }
    let named = named(text);
    let unexplained = named.iter().filter(|(_, is_explained)| !is_explained).count();
    let more = (unexplained > 1).then(|| many(manifest, unexplained));
    let texts: Vec<&str> = roots
        .iter()
        .filter(|(name, _)| named.iter().any(|(known, _)| known == name))
        .filter_map(|(_, path)| tree.text(path))
        .collect();
    let is_module = |name: &str| {
        let line = format!("mod {name};");
        texts.iter().any(|text| text.lines().any(|found| found == line))
    };
    let strays = roots
        .iter()
        .filter(|(name, _)| !named.iter().any(|(known, _)| known == name) && !is_module(name));
    let strays = strays.map(|(name, path)| {
        let mend = format!("write `mod {name};` in {tests}all.rs, or a `[[test]]` in {manifest}");
        Problem::new(*path, "found tests that never run", mend)
    });
    more.into_iter().chain(strays).collect()
}

/// What cargo would find by itself: a name, and the file that it begins with.
fn roots<'a>(tree: &'a Tree, tests: &'a str) -> BTreeSet<(&'a str, &'a str)> {
    let files = tree.matching(tests, ".rs");
    let roots = files.filter_map(|(path, _)| {
        let name = path.strip_prefix(tests)?.strip_suffix(".rs")?;
        let name = name.strip_suffix("/main").unwrap_or(name);
        (!name.contains('/')).then_some((name, path))
    });
    roots.collect()
}

/// The programs that a manifest names, and whether a comment stands above each.
fn named(manifest: &str) -> Vec<(&str, bool)> {
    let lines: Vec<&str> = manifest.lines().collect();
    let starts = (0..lines.len()).filter(|at| lines[*at] == PROGRAM);
    let named = starts.filter_map(|at| {
        let name = lines.get(at + 1)?.strip_prefix("name = \"")?.strip_suffix('"')?;
        Some((name, at > 0 && lines[at - 1].starts_with('#')))
    });
    named.collect()
}

fn many(manifest: &str, count: usize) -> Problem {
    let found = format!("found {count} test programs, each compiled and linked by itself");
    let mend = "make them modules of `tests/all.rs`, as crates/sim does (`autotests = false`), or say above the \
                `[[test]]` of each but one why it stays apart";
    Problem::new(manifest, found, mend)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "autotests = false\n\n[[test]]\nname = \"all\"\n";
    const TWO: &str = "\n# It takes the process's descriptors away.\n[[test]]\nname = \"b\"\n";

    fn found(manifest: &str, all: &str) -> Vec<String> {
        let files = [
            ("x/Cargo.toml", manifest),
            ("x/tests/all.rs", all),
            ("x/tests/b.rs", ""),
            ("x/tests/c/mod.rs", ""),
        ];
        are_few(&Tree::from(files)).into_iter().map(|one| one.place + " " + &one.found).collect()
    }

    #[test]
    fn a_second_program_needs_a_reason() {
        assert_eq!(
            found("[package]\n", ""),
            ["x/Cargo.toml found 2 test programs, each compiled and linked by itself"]
        );
        assert!(found(ONE, "mod b;\n").is_empty());
        assert!(found(&(ONE.to_owned() + TWO), "").is_empty());
        let bare = TWO.replace("# It takes the process's descriptors away.\n", "");
        assert_eq!(found(&(ONE.to_owned() + &bare), "").len(), 1);
    }

    #[test]
    fn each_file_belongs_to_a_program() {
        assert_eq!(found(ONE, "mod c;\n"), ["x/tests/b.rs found tests that never run"]);
        assert!(found(ONE, "#[cfg(feature = \"tls\")]\nmod b;\n").is_empty());
        let folder = [("x/Cargo.toml", ONE), ("x/tests/all.rs", ""), ("x/tests/c/main.rs", "")];
        assert_eq!(
            are_few(&Tree::from(folder)).len(),
            1,
            "cargo would build it without the manifest's word"
        );
        let alone =
            [("x/Cargo.toml", ""), ("x/tests/c/main.rs", "mod d;\n"), ("x/tests/c/d.rs", "")];
        assert!(are_few(&Tree::from(alone)).is_empty());
    }
}
