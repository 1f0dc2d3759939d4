//! Project chores that are more than a few lines of shell: `cargo xtask VERB`.
//!
//! Start with the table `VERBS`; each verb has a module of its name. Checks read the repository as
//! one [`tree::Tree`] of texts, so that their tests need no files. Nothing here ships to users.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

mod bench;
mod ci;
mod cpu;
mod examples;
mod fresh;
mod fuzz;
mod lanes;
mod markdown;
mod miri;
mod mutants;
mod nightly;
mod pass;
mod process;
mod readme;
mod slow;
mod source;
mod sweep;
mod tally;
mod test;
mod tidy;
mod tree;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What a verb answers: nothing, or what was found, what was needed and what to do.
type Result<T = ()> = std::result::Result<T, String>;

struct Verb {
    name: &'static str,
    help: &'static str,
    run: fn(&Path, &[String]) -> Result,
}

const VERBS: &[Verb] = &[
    Verb { name: "ci", help: "everything CI runs, with a timing table", run: ci::main },
    Verb { name: "test", help: "[FLAGS of cargo]: every test, failures last", run: test::main },
    Verb { name: "tidy", help: "check map, layers, unsafe and documents", run: tidy::main },
    Verb {
        name: "readme",
        help: "run the ```sh blocks of README.md and docs/*.md",
        run: readme::main,
    },
    Verb { name: "examples", help: "run the examples of the façade crate", run: examples::main },
    Verb { name: "fresh", help: "COMMAND…: run it in a new Debian root", run: fresh::main },
    Verb { name: "pass", help: "build the profiler's plugin and runtime", run: pass::main },
    Verb { name: "source", help: "PACKAGE: fetch a Debian source package", run: source::main },
    Verb {
        name: "bench",
        help: "[--list] [--short] [--test] [NAME…]: run benches, or their tests",
        run: bench::main,
    },
    Verb { name: "peers", help: "check the benches that CI leaves out", run: bench::peers::main },
    Verb {
        name: "sweep",
        help: "SCENARIO SHARDS [PROGRAM]: simulate it shard by shard, and merge",
        run: sweep::main,
    },
    Verb { name: "miri", help: "the tests of the kernels under Miri", run: miri::main },
    Verb {
        name: "mutants",
        help: "what tests of the laws notice; no part of CI",
        run: mutants::main,
    },
    Verb { name: "fuzz", help: "SECONDS [TARGET…]: fuzz each target that long", run: fuzz::main },
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(args: &[String]) -> Result {
    let Some((name, rest)) = args.split_first() else {
        println!("{}", usage());
        return Ok(());
    };
    let verb = VERBS
        .iter()
        .find(|verb| verb.name == name)
        .ok_or_else(|| format!("found no verb `{name}`\n{}", usage()))?;
    (verb.run)(&root()?, rest)
}

fn usage() -> String {
    let verbs = VERBS.iter().map(|verb| format!("  {:<9} {}", verb.name, verb.help));
    format!("usage: cargo xtask VERB\n{}", verbs.collect::<Vec<_>>().join("\n"))
}

/// The repository's root: the folder above this crate, which cargo names at run time.
fn root() -> Result<PathBuf> {
    let crate_dir = std::env::var_os("CARGO_MANIFEST_DIR")
        .ok_or("found no CARGO_MANIFEST_DIR; start this with `cargo xtask VERB`")?;
    let root = Path::new(&crate_dir).parent();
    root.map(Path::to_path_buf).ok_or_else(|| "xtask lies at the root of the disk".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_names_every_verb_once() {
        for verb in VERBS {
            assert_eq!(usage().matches(&format!("\n  {} ", verb.name)).count(), 1, "{}", verb.name);
        }
    }

    #[test]
    fn an_unknown_verb_is_answered_with_the_known() {
        let message = dispatch(&["dance".to_owned()]).unwrap_err();
        assert!(message.contains("dance") && message.contains("tidy"), "{message}");
    }
}
