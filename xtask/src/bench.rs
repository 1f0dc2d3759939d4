//! `bench`: every scenario file and every program in benches/, by name.
//!
//! A scenario runs with the release binary and writes to `out/bench/NAME`; a program in `benches/`
//! is a workspace of its own, so that what it compares with stays out of the common build.

use crate::Result;
use crate::process::{self, SHORT};
use crate::tally::Tally;
use crate::tree::Tree;
use std::path::Path;
use std::process::Command;

/// `cargo xtask bench [--list] [--short] [NAME…]`.
pub(crate) fn main(root: &Path, args: &[String]) -> Result {
    let (flags, names): (Vec<&str>, Vec<&str>) =
        args.iter().map(String::as_str).partition(|arg| arg.starts_with("--"));
    if let Some(flag) = flags.iter().find(|flag| !["--list", "--short"].contains(flag)) {
        return Err(format!("found flag {flag}; `bench` knows --list and --short"));
    }
    let all = list(&Tree::read(root)?);
    if flags.contains(&"--list") {
        all.iter().for_each(|bench| println!("{:<20} {}", bench.name, bench.path));
        return Ok(());
    }
    let chosen = choose(&all, &names)?;
    process::build_release(root)?;
    run(root, &chosen, flags.contains(&"--short")).verdict("benches")
}

/// A short pass over every bench, each counted as one. Needs the release binary.
pub(crate) fn check(root: &Path) -> Result<Tally> {
    let all = list(&Tree::read(root)?);
    Ok(run(root, &choose(&all, &[])?, true))
}

/// One thing to measure.
#[derive(PartialEq, Eq, Debug)]
struct Bench {
    name: String,
    /// A scenario file, or the manifest of a program.
    path: String,
}

impl Bench {
    fn command(&self, root: &Path, short: bool) -> Command {
        let mut command = if self.path.starts_with("scenarios/") {
            let mut command = Command::new(process::built(root, "release").join("tailwater"));
            command.args(["run", &self.path, "--out", &format!("out/bench/{}", self.name)]);
            command
        } else {
            let run = ["run", "--release", "--locked", "--manifest-path", &self.path, "--"];
            let mut command = process::cargo(root, &run);
            // A target folder of its own, whatever ours is: its workspace locks other versions.
            command.env_remove("CARGO_TARGET_DIR").args(short.then_some("--short"));
            command
        };
        if short {
            command.env(SHORT.0, SHORT.1);
        }
        command.current_dir(root);
        command
    }
}

fn list(tree: &Tree) -> Vec<Bench> {
    let named = |path: &str, name: &str| Bench { name: name.to_owned(), path: path.to_owned() };
    let scenarios = tree.matching("scenarios/", ".toml").filter_map(|(path, _)| {
        Some(named(path, path.strip_prefix("scenarios/")?.strip_suffix(".toml")?))
    });
    let programs = tree.matching("benches/", "/Cargo.toml").filter_map(|(path, _)| {
        Some(named(path, path.strip_prefix("benches/")?.strip_suffix("/Cargo.toml")?))
    });
    scenarios.chain(programs).filter(|bench| !bench.name.contains('/')).collect()
}

fn choose<'a>(all: &'a [Bench], names: &[&str]) -> Result<Vec<&'a Bench>> {
    if names.is_empty() {
        return Ok(all.iter().collect());
    }
    let found = names.iter().map(|name| {
        all.iter().find(|bench| bench.name == *name).ok_or_else(|| {
            let known: Vec<&str> = all.iter().map(|bench| bench.name.as_str()).collect();
            format!("found no bench `{name}`; there are: {}", known.join(", "))
        })
    });
    found.collect()
}

fn run(root: &Path, benches: &[&Bench], short: bool) -> Tally {
    let mut tally = Tally::default();
    for bench in benches {
        tally.count(&bench.name, process::run(&mut bench.command(root, short)));
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> Tree {
        Tree::from([
            ("scenarios/overload.toml", ""),
            ("benches/transport/Cargo.toml", ""),
            ("benches/transport/inner/Cargo.toml", ""),
            ("presets/x.toml", ""),
        ])
    }

    #[test]
    fn scenarios_and_programs_are_benches() {
        let all = list(&tree());
        let names: Vec<&str> = all.iter().map(|bench| bench.name.as_str()).collect();
        assert_eq!(names, ["overload", "transport"]);
        assert_eq!(choose(&all, &[]).unwrap().len(), 2);
        assert_eq!(choose(&all, &["transport"]).unwrap(), [&all[1]]);
        assert!(choose(&all, &["none"]).unwrap_err().contains("overload, transport"));
    }

    #[test]
    fn short_reaches_both_kinds() {
        for bench in list(&tree()) {
            let short = bench.command(Path::new("."), true);
            assert!(short.get_envs().any(|(name, value)| name == SHORT.0 && value.is_some()));
            let flag = short.get_args().any(|arg| arg == "--short");
            assert_eq!(flag, bench.name == "transport");
            let full = bench.command(Path::new("."), false);
            assert!(!full.get_envs().any(|(name, _)| name == SHORT.0));
        }
    }
}
