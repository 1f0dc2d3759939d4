//! `peers`: checks the benches that are workspaces of their own, which take too long for CI.

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
    let (tree, mut tally) = (Tree::read(root)?, Tally::default());
    for bench in list::list(&tree)?.iter().filter(|bench| bench.kind == Kind::Peer) {
        tally.count(&bench.name, process::run(&mut check(root, bench)));
        if list::has_tests_in(&tree, bench) {
            let test = ["test", "--locked", "--manifest-path", &bench.path];
            tally.count(&format!("tests of {}", bench.name), process::run(&mut cargo(root, &test)));
        }
    }
    tally.some("peer")?.verdict("peers")
}

/// In the folder that it builds in by hand.
fn check(root: &Path, bench: &Bench) -> Command {
    let clippy = ["clippy", "--all-targets", "--locked", "--manifest-path", &bench.path];
    let mut command = cargo(root, &clippy);
    command.args(["--", "-D", "warnings"]);
    command
}
