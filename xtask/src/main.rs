//! Project chores that are more than a few lines of shell: `cargo xtask VERB`.
//!
//! Start with the table `VERBS`; each verb has a module of its name. Checks read the repository as
//! one [`tree::Tree`] of texts, so that their tests need no files. Nothing here ships to users.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

mod bench;
mod ci;
mod copy;
mod cpu;
mod examples;
mod format;
mod fresh;
mod fuzz;
mod lanes;
mod markdown;
mod miri;
mod models;
mod mutants;
mod nightly;
mod pass;
mod process;
mod readme;
mod record;
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
    /// What may follow the name.
    args: &'static str,
    help: &'static str,
    run: fn(&Path, &[String]) -> Result,
}

const VERBS: &[Verb] = &[
    Verb { name: "ci", args: "", help: "everything CI runs, with a timing table", run: ci::main },
    Verb {
        name: "test",
        args: "[--busy N] [--times N] [FLAGS of cargo] [-- NAMES of tests]",
        help: "every test, failures last",
        run: test::main,
    },
    Verb { name: "fmt", args: "", help: "format the code of every workspace", run: format::main },
    Verb {
        name: "tidy",
        args: "",
        help: "check map, layers, unsafe and documents",
        run: tidy::main,
    },
    Verb {
        name: "readme",
        args: "",
        help: "run the ```sh blocks of README.md and docs/*.md",
        run: readme::main,
    },
    Verb {
        name: "examples",
        args: "",
        help: "run the examples of the façade crate",
        run: examples::main,
    },
    Verb {
        name: "fresh",
        args: "[--or-here] COMMAND…",
        help: "run it in a new Debian root",
        run: fresh::main,
    },
    Verb {
        name: "pass",
        args: "[--plugin]",
        help: "build the profiler's plugin and runtime",
        run: pass::main,
    },
    Verb {
        name: "source",
        args: "PACKAGE",
        help: "fetch a Debian source package",
        run: source::main,
    },
    Verb {
        name: "bench",
        args: "[--list] [--short] [--test] [NAME…]",
        help: "run benches, or their tests",
        run: bench::main,
    },
    Verb {
        name: "peers",
        args: "",
        help: "check the benches that CI leaves out",
        run: bench::peers::main,
    },
    Verb {
        name: "sweep",
        args: "SCENARIO SHARDS [PROGRAM]",
        help: "simulate it shard by shard, and merge",
        run: sweep::main,
    },
    Verb {
        name: "miri",
        args: "[--out FILE]",
        help: "the tests of the kernels under Miri; no part of CI",
        run: miri::main,
    },
    Verb {
        name: "models",
        args: "[--out FILE] [NAME…]",
        help: "plant defects for each model of loom, which must fail; no part of CI",
        run: models::main,
    },
    Verb {
        name: "mutants",
        args: "[--rest] [--seed S] [--sample N | --shard I/N] [--minutes M] | --again | --merge",
        help: "what tests of the laws notice; no part of CI",
        run: mutants::main,
    },
    Verb {
        name: "fuzz",
        args: "SECONDS [TARGET…]",
        help: "fuzz each target that long",
        run: fuzz::main,
    },
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
    let Some((name, rest)) = args.split_first().filter(|(name, _)| !asks_for_help(name)) else {
        println!("{}", usage());
        return Ok(());
    };
    let verb = VERBS
        .iter()
        .find(|verb| verb.name == name)
        .ok_or_else(|| format!("found no verb `{name}`\n{}", usage()))?;
    if rest.first().is_some_and(|word| asks_for_help(word)) {
        println!("{}", verb.usage());
        return Ok(());
    }
    (verb.run)(&root()?, rest)
}

fn asks_for_help(word: &str) -> bool {
    matches!(word, "--help" | "-h" | "help")
}

impl Verb {
    fn usage(&self) -> String {
        let typed = format!("cargo xtask {} {}", self.name, self.args);
        format!("usage: {}\n{}", typed.trim_end(), self.help)
    }
}

fn usage() -> String {
    let verbs = VERBS.iter().map(|verb| format!("  {:<9} {}", verb.name, verb.help));
    let verbs = verbs.collect::<Vec<_>>().join("\n");
    format!("usage: cargo xtask VERB\n{verbs}\n`cargo xtask VERB --help` says what may follow it")
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
    fn help_is_no_failure_and_starts_nothing() {
        let asked = |words: &[&str]| {
            dispatch(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
        };
        for word in ["--help", "-h", "help"] {
            assert_eq!(asked(&[word]), Ok(()));
            // Would fetch a package of that name, or answer that it takes one.
            assert_eq!(asked(&["source", word]), Ok(()));
            assert_eq!(asked(&["sweep", word]), Ok(()));
        }
        let pass = VERBS.iter().find(|verb| verb.name == "pass").unwrap();
        let said = "usage: cargo xtask pass [--plugin]\nbuild the profiler's plugin and runtime";
        assert_eq!(pass.usage(), said);
    }

    #[test]
    fn an_unknown_verb_is_answered_with_the_known() {
        let message = dispatch(&["dance".to_owned()]).unwrap_err();
        assert!(message.contains("dance") && message.contains("tidy"), "{message}");
    }
}
