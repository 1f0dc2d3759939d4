//! Packages that tests and CI's steps need are installed by the set-up: in a new root, nothing is passed over or fails
//! for want of one.

use super::Problem;
use crate::tree::Tree;
use std::collections::BTreeSet;

const ASKED: &str = "apt-get install ";
/// Where CI starts programs that ask for packages, beside tests.
const STEPS: [&str; 2] = ["examples/profiling/memcached.sh", "benches/profile/src/programs.rs"];

/// What a test or a step of CI tells people to install is a package of the Makefile.
pub(super) fn are_set_up(tree: &Tree) -> Vec<Problem> {
    let known = installed(tree.text("Makefile").unwrap_or_default());
    let files = tree.matching("", "").filter(|(path, _)| asks(path));
    let asked = files.flat_map(|(path, text)| {
        text.lines().enumerate().flat_map(move |(index, line)| {
            packages(line).map(move |package| (path, index + 1, package))
        })
    });
    asked
        .filter(|(_, _, package)| !known.contains(package))
        .map(|(path, line, package)| {
            let found = format!("found that it needs {package}, which the set-up does not install");
            let mend = "name it in NEEDS_TEST or NEEDS_CI of the Makefile";
            Problem::new(format!("{path}:{line}"), found, mend)
        })
        .collect()
}

fn asks(path: &str) -> bool {
    STEPS.contains(&path) || path.ends_with(".rs") && path.split('/').any(|part| part == "tests")
}

/// What follows the words that ask for it, up to what is no name of a package.
fn packages(line: &str) -> impl Iterator<Item = &str> {
    let rest = line.split_once(ASKED).map_or("", |(_, rest)| rest);
    let is_part =
        |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '+' || c == ' ';
    let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
    rest[..end].split_whitespace()
}

/// The packages of each `COMMAND=PACKAGE,PACKAGE`.
fn installed(makefile: &str) -> BTreeSet<&str> {
    let words = makefile.split_whitespace();
    words.filter_map(|word| word.split_once('=')).flat_map(|(_, all)| all.split(',')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAKEFILE: &str = "NEEDS := cc=gcc,libc6-dev \\\n  c++=g++\nx:\n\tX=1 $(CARGO) test\n";

    fn found(path: &str, text: &str) -> Vec<String> {
        let tree = Tree::from([("Makefile", MAKEFILE), (path, text)]);
        are_set_up(&tree).into_iter().map(|problem| problem.place + " " + &problem.found).collect()
    }

    #[test]
    fn what_a_test_asks_for_must_be_installed() {
        let path = "crates/a/tests/b.rs";
        assert!(found(path, "x.expect(\"type: apt-get install g++ libc6-dev\");\n").is_empty());
        let problems =
            found(path, "\nx.expect(\"found none; type: apt-get install gcc cmake\");\n");
        assert_eq!(problems.len(), 1);
        assert!(problems[0].starts_with("crates/a/tests/b.rs:2 found that it needs cmake"));
        assert_eq!(found(STEPS[0], "type: apt-get install libevent-dev\" >&2\n").len(), 1);
    }

    #[test]
    fn what_programs_tell_their_users_is_left_to_them() {
        assert!(found("crates/a/src/lib.rs", "apt-get install cmake").is_empty());
        assert!(found("docs/a.md", "apt-get install cmake").is_empty());
    }

    #[test]
    fn words_that_go_on_are_no_packages() {
        let said = "assert!(said.contains(\"apt-get install gcc, or say --other\"));";
        assert_eq!(packages(said).collect::<Vec<_>>(), ["gcc"]);
    }
}
