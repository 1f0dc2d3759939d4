//! Trying mutants: cargo-mutants on a copy of the tree, which it changes in place, one after the other.

use super::order::Mutant;
use super::outcome::{Fate, Outcome};
use crate::Result;
use crate::copy::copy;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Which tests are asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tests {
    /// The unit tests: one program to build, and less than a second to run.
    Quick,
    /// Every test of the crate.
    All,
}

/// A change that loops for ever may fill what it loops over.
const MEMORY_MAX_KIB: u32 = 8_000_000;

/// What the kernel says of a process that has had its time.
const OUT_OF_TIME: &str = "SIGXCPU";

/// What cargo says of a compiler that others have ended, or the kernel for want of memory. One that ends by itself finds no change that
/// compiles.
const BY_OTHERS: [&str; 2] = ["(signal: 9, SIGKILL", "(signal: 15, SIGTERM"];

/// Beside busy processes all takes many times as long. What waits for ever without computing ends by this, in seconds.
const WALL_S: u32 = 1_800;

impl Tests {
    /// Ten times what the tests compute, in seconds of one core.
    const fn cpu_s(self) -> u32 {
        match self {
            Self::Quick => 20,
            Self::All => 120,
        }
    }

    fn targets(self) -> &'static str {
        match self {
            Self::Quick => "--cargo-arg=--lib",
            Self::All => "--cargo-arg=--tests",
        }
    }
}

/// Where mutants are tried. Two with different names may be at work at once.
pub(super) struct Bench {
    tree: PathBuf,
    output: PathBuf,
}

impl Bench {
    /// With a copy of the tree as it is now.
    pub(super) fn new(root: &Path, name: &str) -> Result<Self> {
        let folder = root.join("target/mutants").join(name);
        let bench = Self { tree: folder.join("tree"), output: folder.join("output") };
        copy(root, &bench.tree)?;
        Ok(bench)
    }

    /// Tries these; those of which nothing was heard are left out.
    pub(super) fn attempt(&self, batch: &[Mutant], tests: Tests) -> Result<Vec<Outcome>> {
        fs::create_dir_all(&self.output)
            .map_err(|error| format!("{}: {error}", self.output.display()))?;
        self.write_diff(batch)?;
        let output = self.command(batch, tests).output();
        let output = output.map_err(|error| format!("could not start cargo mutants: {error}"))?;
        // Mutants were missed, or timed out.
        if !matches!(output.status.code(), Some(0 | 2 | 3)) {
            let said =
                [output.stdout, output.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
            return Err(format!("cargo mutants ended with {}\n{}", output.status, said.concat()));
        }
        let folder = self.output.join("mutants.out");
        let text = fs::read_to_string(folder.join("outcomes.json"))
            .map_err(|error| format!("could not read outcomes of cargo mutants: {error}"))?;
        let found: Value = serde_json::from_str(&text)
            .map_err(|error| format!("outcomes of cargo mutants are no JSON: {error}"))?;
        let found = found["outcomes"].as_array().cloned().unwrap_or_default();
        Ok(found.iter().filter_map(|one| read(&folder, one, batch)).collect())
    }

    /// Regular expressions choose by name, but cargo-mutants 27.1 asks them of no deleted field: each would be tried with
    /// every batch. A difference in the lines of the batch leaves out those of other lines.
    fn write_diff(&self, batch: &[Mutant]) -> Result {
        let mut lines: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
        for mutant in batch {
            lines.entry(&mutant.file).or_default().insert(mutant.number());
        }
        let mut text = String::new();
        for (file, numbers) in lines {
            let source = fs::read_to_string(self.tree.join(file))
                .map_err(|error| format!("could not read the copy of {file}: {error}"))?;
            text += &diff(file, &source, &numbers);
        }
        fs::write(self.diff(), text).map_err(|error| format!("{}: {error}", self.diff().display()))
    }

    fn diff(&self) -> PathBuf {
        self.output.join("batch.diff")
    }

    fn command(&self, batch: &[Mutant], tests: Tests) -> Command {
        let mut command = Command::new("cargo");
        command.args(["mutants", "--in-place", "--baseline=skip"]);
        command.arg(format!("--timeout={WALL_S}")).arg(format!("--build-timeout={WALL_S}"));
        command.arg("--output").arg(&self.output).arg(tests.targets());
        command.arg("--cargo-arg=--config").arg(format!("--cargo-arg={}", runner(tests.cpu_s())));
        command.arg("--in-diff").arg(self.diff());
        for mutant in batch {
            command.args(["-F", &format!("^{}$", literal(&mutant.name))]);
        }
        // What is built is kept beside the copy, not where a caller keeps other builds.
        command.env_remove("CARGO_TARGET_DIR").env("CARGO_INCREMENTAL", "1");
        command.current_dir(&self.tree).stdin(Stdio::null());
        command
    }
}

/// What tests may compute and keep. Not the compiler: the first build of a tree computes for longer than any of its tests.
/// What ends it leaves no incremental build, so that each later one would be as long.
fn runner(cpu_s: u32) -> String {
    let limited = format!("ulimit -v {MEMORY_MAX_KIB} && ulimit -S -t {cpu_s} && exec \"$@\"");
    format!("target.'cfg(unix)'.runner={}", serde_json::json!(["sh", "-c", limited, "sh"]))
}

/// These lines as if they had been added.
fn diff(file: &str, source: &str, numbers: &BTreeSet<usize>) -> String {
    let mut text = format!("--- a/{file}\n+++ b/{file}\n");
    for (added, number) in numbers.iter().enumerate() {
        let line = source.lines().nth(number.saturating_sub(1)).unwrap_or_default();
        let before = number.saturating_sub(1 + added);
        text += &format!("@@ -{before},0 +{number},1 @@\n+{line}\n");
    }
    text
}

/// A regular expression for this text alone.
fn literal(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        if r"\.+*?()|[]{}^$#&-~".contains(letter) {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

fn read(folder: &Path, one: &Value, batch: &[Mutant]) -> Option<Outcome> {
    let name = one["scenario"]["Mutant"]["name"].as_str()?;
    let mutant = batch.iter().find(|mutant| mutant.name == name)?.clone();
    let path = folder.join(one["log_path"].as_str()?);
    let log = String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
    let fate = fate(one["summary"].as_str()?, &log)?;
    let witness = witness(&log).filter(|_| fate == Fate::Caught);
    Some(Outcome { mutant, fate, witness })
}

fn fate(summary: &str, log: &str) -> Option<Fate> {
    match summary {
        // Tests that are ended for their time fail; none of them has noticed anything.
        "CaughtMutant" if log.contains(OUT_OF_TIME) => Some(Fate::Timeout),
        "CaughtMutant" => Some(Fate::Caught),
        "MissedMutant" => Some(Fate::Missed),
        "Timeout" => Some(Fate::Timeout),
        // A compiler that something ended has not said that the change does not compile.
        "Unviable" if BY_OTHERS.iter().any(|said| log.contains(said)) => None,
        "Unviable" => Some(Fate::Unviable),
        _ => None,
    }
}

/// The test that noticed, and whether it did by an assertion: such a test before others.
fn witness(log: &str) -> Option<(String, bool)> {
    let (mut test, mut first) = (None, None);
    let mut lines = log.lines();
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix("---- ") {
            test = name.strip_suffix(" stdout ----");
        } else if line.starts_with("thread '") && line.contains(" panicked at ") {
            let (Some(name), Some(message)) = (test, lines.next()) else { continue };
            if is_assertion(message) {
                return Some((name.to_owned(), true));
            }
            first.get_or_insert((name.to_owned(), false));
        }
    }
    first
}

/// What panics by itself, in a law that was changed, tells nothing of what a test looks at.
fn is_assertion(message: &str) -> bool {
    const PANICS: &[&str] =
        &["attempt to ", "index out of bounds", "called `Option::", "called `Result::", "range "];
    let message = message.strip_prefix("Test failed: ").unwrap_or(message);
    !PANICS.iter().any(|begins| message.starts_with(begins))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_taken_literally() {
        assert_eq!(
            literal("a.rs:1:2: replace + with - in <impl A>::b"),
            r"a\.rs:1:2: replace \+ with \- in <impl A>::b"
        );
    }

    const LOG: &str = "
---- codel::law::tests::one stdout ----

thread 'codel::law::tests::one' (7) panicked at crates/control/src/codel/law.rs:55:42:
attempt to subtract with overflow
note: run with `RUST_BACKTRACE=1`

---- codel::law::tests::two stdout ----

thread 'codel::law::tests::two' (8) panicked at crates/control/src/codel/law.rs:131:9:
assertion `left == right` failed
  left: []
";

    #[test]
    fn a_test_that_asserts_is_named_before_one_that_only_ran_into_it() {
        assert_eq!(witness(LOG), Some(("codel::law::tests::two".into(), true)));
        let first = LOG.split("---- codel::law::tests::two").next().unwrap();
        assert_eq!(witness(first), Some(("codel::law::tests::one".into(), false)));
        assert_eq!(witness("signal: 6, SIGABRT"), None);
        assert!(!is_assertion("Test failed: attempt to add with overflow."));
        assert!(is_assertion("Test failed: assertion failed: `(left == right)`"));
    }

    #[test]
    fn what_was_ended_tells_nothing_of_a_change() {
        assert_eq!(fate("Unviable", "error[E0277]: the trait bound"), Some(Fate::Unviable));
        let ended = "process didn't exit successfully: `rustc --test` (signal: 9, SIGKILL: kill)";
        assert_eq!(fate("Unviable", ended), None);
        let ended = "process didn't exit successfully: `laws` (signal: 24, SIGXCPU: CPU time)";
        assert_eq!(fate("CaughtMutant", ended), Some(Fate::Timeout));
        assert_eq!(fate("CaughtMutant", LOG), Some(Fate::Caught));
    }

    #[test]
    fn tests_alone_are_limited() {
        let words: toml::Table = runner(7).parse().unwrap();
        let runner = words["target"]["cfg(unix)"]["runner"].as_array().unwrap();
        let words: Vec<&str> = runner.iter().filter_map(|it| it.as_str()).collect();
        let mut limited = Command::new(words[0]);
        let said = limited.args(&words[1..]).args(["sh", "-c", "ulimit -S -t"]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&said.stdout), "7\n");
    }

    #[test]
    fn lines_of_a_batch_are_told_as_added() {
        let numbers = BTreeSet::from([1, 3]);
        let expected = "--- a/f.rs\n+++ b/f.rs\n@@ -0,0 +1,1 @@\n+a\n@@ -1,0 +3,1 @@\n+ c\n";
        assert_eq!(diff("f.rs", "a\nb\n c\n", &numbers), expected);
    }
}
