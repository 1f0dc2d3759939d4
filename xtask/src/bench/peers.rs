//! `peers`: lints all benches. CI runs those of the workspace and leaves out the others, which take too long for it.

use super::{Bench, Kind, list};
use crate::Result;
use crate::process::{self, cargo};
use crate::tally::Tally;
use crate::tree::Tree;
use std::path::Path;
use std::process::Command;

/// `cargo xtask peers`: compiles each as far as its types and lints go, which is where a change of our crates shows. Runs its
/// tests, if it has some.
pub(crate) fn main(root: &Path, args: &[String]) -> Result {
    if !args.is_empty() {
        return Err(format!("found {args:?}; type `cargo xtask peers` alone"));
    }
    let tree = Tree::read(root)?;
    let (all, mut tally) = (list::list(&tree)?, Tally::default());
    tally.count("the workspace's benches", process::run(&mut lint(root, &all)));
    for bench in all.iter().filter(|bench| bench.kind == Kind::Peer) {
        tally.count(&bench.name, process::run(&mut check(root, bench)));
        if list::has_tests_in(&tree, bench) {
            tally.count(&format!("tests of {}", bench.name), process::run(&mut test(root, bench)));
        }
    }
    tally.some("peer")?.verdict("peers")
}

/// Those of the workspace, in one build. Without their features: one of them compiles SQLite.
fn lint(root: &Path, all: &[Bench]) -> Command {
    let mut command = cargo(root, &["clippy", "--all-targets", "--locked"]);
    for bench in all.iter().filter(|bench| bench.kind == Kind::Program) {
        command.args(["--package", &bench.name]);
    }
    command.args(["--", "-D", "warnings"]);
    command
}

/// Its tests may start programs with the same allocator as rustc, which are to be as they are elsewhere.
fn test(root: &Path, bench: &Bench) -> Command {
    let test = ["test", "--locked", "--manifest-path", &bench.path];
    let mut command = cargo(root, &test);
    command.env_remove(process::HUGE_PAGES.0);
    command
}

/// In the folder that it builds in by hand.
fn check(root: &Path, bench: &Bench) -> Command {
    let clippy = ["clippy", "--all-targets", "--locked", "--manifest-path", &bench.path];
    let mut command = cargo(root, &clippy);
    command.args(["--", "-D", "warnings"]);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_meant_for_the_compiler_reaches_no_test() {
        let all = list::list(&Tree::read(&crate::root().unwrap()).unwrap()).unwrap();
        let peer = all.iter().find(|bench| bench.kind == Kind::Peer).expect("there are some");
        let set = |command: &Command| {
            command.get_envs().any(|(name, value)| name == process::HUGE_PAGES.0 && value.is_some())
        };
        assert!(set(&check(Path::new("."), peer)));
        assert!(!set(&test(Path::new("."), peer)));
    }
}
