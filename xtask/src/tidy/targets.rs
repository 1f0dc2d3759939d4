//! Targets that are not built for tests have none: they would never run.

use super::Problem;
use crate::tree::Tree;
use std::collections::BTreeSet;
use toml::{Table, Value};

/// Every library and program with `test = false`: without tests, its build for them is time for nothing.
pub(super) fn have_no_tests(tree: &Tree) -> Vec<Problem> {
    let manifests = tree.matching("", "Cargo.toml");
    manifests.flat_map(|(manifest, text)| of_package(tree, manifest, text)).collect()
}

fn of_package(tree: &Tree, manifest: &str, text: &str) -> Vec<Problem> {
    // What is no TOML, cargo says.
    let package = text.parse::<Table>().unwrap_or_default();
    let folder = manifest.trim_end_matches("Cargo.toml");
    let library = package.get("lib").into_iter().filter(|it| is_untested(it)).flat_map(|_| {
        let src = format!("{folder}src/");
        tree.matching("", ".rs").filter(move |(path, _)| path.starts_with(&src))
    });
    let programs = package.get("bin").and_then(Value::as_array).into_iter().flatten();
    let programs = programs.filter(|it| is_untested(it)).filter_map(|it| it.get("path")?.as_str());
    let programs = programs.flat_map(|path| {
        // Its modules lie beside it, unless these are the library's.
        let own = match path.rsplit_once('/') {
            Some((beside, _)) if beside != "src" => beside,
            _ => path,
        };
        let own = format!("{folder}{own}");
        tree.matching("", ".rs").filter(move |(path, _)| path.starts_with(&own))
    });
    // A program may lie among the modules of a library.
    let files: BTreeSet<(&str, &str)> = library.chain(programs).collect();
    let tests = files.into_iter().filter_map(|(path, text)| {
        let line = text.lines().position(|line| line.trim() == "#[test]")?;
        Some(format!("{path}:{}", line + 1))
    });
    let mend = format!("remove `test = false` from its target in {manifest}");
    tests.map(|place| Problem::new(place, "found a test that never runs", &*mend)).collect()
}

fn is_untested(target: &Value) -> bool {
    target.get("test").and_then(Value::as_bool) == Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEST: &str = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn a() {}\n}\n";

    fn places(manifest: &str, path: &str) -> Vec<String> {
        let tree = Tree::from([("a/Cargo.toml", manifest), (path, TEST), ("b/src/lib.rs", TEST)]);
        have_no_tests(&tree).into_iter().map(|problem| problem.place).collect()
    }

    #[test]
    fn tests_of_a_target_that_is_not_tested_are_found() {
        let library = "[lib]\ntest = false\n";
        assert_eq!(places(library, "a/src/x/y.rs"), ["a/src/x/y.rs:3"]);
        assert!(places(library, "a/tests/x.rs").is_empty(), "those are another target's");
        assert!(places("[lib]\n", "a/src/x.rs").is_empty());
        let program = "[[bin]]\nname = \"a\"\npath = \"src/main.rs\"\ntest = false\n";
        assert_eq!(places(program, "a/src/main.rs"), ["a/src/main.rs:3"]);
        assert!(places(program, "a/src/x.rs").is_empty(), "it may be the library's");
        let apart = program.replace("src/", "src/program/");
        assert_eq!(places(&apart, "a/src/program/x.rs"), ["a/src/program/x.rs:3"]);
        assert!(places(&apart.replace("false", "true"), "a/src/program/x.rs").is_empty());
    }
}
