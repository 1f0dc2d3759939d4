//! `examples`: runs the façade crate's examples against one another.
//!
//! An example called `server` prints a line once it listens and then serves; it runs in the
//! background while each other example must end well by itself.

use crate::Result;
use crate::process::{self, SHORT};
use crate::tally::Tally;
use crate::tree::Tree;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

const FOLDER: &str = "crates/tailwater/examples/";
const SERVER: &str = "server";
const LIMIT: Duration = Duration::from_mins(1);
const SERVER_LIMIT: Duration = Duration::from_mins(5);

/// `cargo xtask examples`.
pub(crate) fn main(root: &Path, _args: &[String]) -> Result {
    check(root)?.verdict("examples")
}

/// Builds and runs every example, each counted as one.
pub(crate) fn check(root: &Path) -> Result<Tally> {
    // With the features of the tests, or they would be built anew.
    let build = ["build", "--all-features", "--examples", "--locked"];
    let tree = Tree::read(root)?;
    process::run(&mut process::cargo(root, &build))?;
    let (servers, others): (Vec<_>, Vec<_>) =
        names(&tree)?.into_iter().partition(|name| *name == SERVER);
    let server = servers.first().map(|name| serve(root, name)).transpose()?;
    let mut tally = Tally::passed(servers.len() as u64);
    for name in others {
        println!("$ example {name}");
        tally.count(name, run(root, name));
    }
    server.iter().for_each(process::end_group);
    Ok(tally)
}

fn names(tree: &Tree) -> Result<Vec<&str>> {
    let files = tree.matching(FOLDER, ".rs");
    let names = files.filter_map(|(path, _)| path.strip_prefix(FOLDER)?.strip_suffix(".rs"));
    let names: Vec<&str> = names.filter(|name| !name.contains('/')).collect();
    // All of nothing would be green.
    if names.is_empty() { Err(format!("found no example in {FOLDER}")) } else { Ok(names) }
}

fn run(root: &Path, name: &str) -> Result {
    let mut command = process::limited(root, LIMIT, &binary(root, name));
    let child = command.env(SHORT.0, SHORT.1).spawn();
    process::finish(child.map_err(|error| format!("could not start it: {error}"))?, LIMIT)
}

/// Starts the server and waits for its first line; its limit ends the wait if none comes.
fn serve(root: &Path, name: &str) -> Result<Child> {
    println!("$ example {name} (in the background)");
    let mut command = process::limited(root, SERVER_LIMIT, &binary(root, name));
    let child = command.stdout(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| format!("could not start {name}: {error}"))?;
    let mut first = String::new();
    if let Some(stdout) = child.stdout.as_mut() {
        BufReader::new(stdout).read_line(&mut first).map_err(|error| error.to_string())?;
    }
    if first.is_empty() {
        process::end_group(&child);
        return Err(format!("example {name} ended without a line; it must say that it listens"));
    }
    print!("{first}");
    Ok(child)
}

fn binary(root: &Path, name: &str) -> std::path::PathBuf {
    process::built(root, "debug").join("examples").join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_files_of_the_facade() {
        let tree = Tree::from([
            ("crates/tailwater/examples/client.rs", ""),
            ("crates/tailwater/examples/parts/mod.rs", ""),
            ("crates/tailwater/src/lib.rs", ""),
        ]);
        assert_eq!(names(&tree).unwrap(), ["client"]);
        assert!(names(&Tree::default()).unwrap_err().contains(FOLDER));
    }
}
