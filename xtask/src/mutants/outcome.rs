//! What came of mutants: parts of it, the result of all parts, and what it says.

use super::order::{self, Key, Mutant};
use crate::Result;
use crate::process::said;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Why survivors are let live, each known by file, words and line.
const REASONS: &str = ".cargo/survivors.toml";

/// Parts lie here.
const PARTS: &str = "out/mutants";

/// The least share of mutants that compile which a test must catch by an assertion.
const LEAST: f64 = 0.9;

/// What became of one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fate {
    Caught,
    Missed,
    Timeout,
    /// It does not compile.
    Unviable,
}

impl Fate {
    const ALL: [Self; 4] = [Self::Caught, Self::Missed, Self::Timeout, Self::Unviable];

    const fn word(self) -> &'static str {
        match self {
            Self::Caught => "caught",
            Self::Missed => "missed",
            Self::Timeout => "timeout",
            Self::Unviable => "unviable",
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Outcome {
    pub(super) mutant: Mutant,
    pub(super) fate: Fate,
    /// The test that caught it, and whether by an assertion.
    pub(super) witness: Option<(String, bool)>,
}

/// Of what and with what mutants were made and chosen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Run {
    seed: u64,
    /// All mutants that there are.
    of: usize,
    cargo_mutants: String,
    rustc: String,
    commit: String,
}

impl Run {
    pub(super) fn of(root: &Path, seed: u64, of: usize) -> Result<Self> {
        let commit = said(root, "git", &["describe", "--always", "--dirty", "--exclude=*"])?;
        let cargo_mutants = said(root, "cargo", &["mutants", "--version"])?;
        Ok(Self { seed, of, cargo_mutants, rustc: said(root, "rustc", &["--version"])?, commit })
    }

    fn read(value: &Value) -> Option<Self> {
        let text = |key: &str| value[key].as_str().map(str::to_owned);
        Some(Self {
            seed: value["seed"].as_u64()?,
            of: usize::try_from(value["of"].as_u64()?).ok()?,
            cargo_mutants: text("cargo_mutants")?,
            rustc: text("rustc")?,
            commit: text("commit")?,
        })
    }
}

/// What came of some of all mutants.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Outcomes {
    pub(super) run: Run,
    /// By name.
    all: BTreeMap<String, Outcome>,
}

impl Outcomes {
    pub(super) fn new(run: Run) -> Self {
        Self { run, all: BTreeMap::new() }
    }

    /// With these, each in place of what was known of it.
    pub(super) fn add(&mut self, found: Vec<Outcome>) {
        self.all.extend(found.into_iter().map(|one| (one.mutant.name.clone(), one)));
    }

    pub(super) fn missed_of(&self, chosen: &[Mutant]) -> Vec<Mutant> {
        let missed = |mutant: &&Mutant| {
            self.all.get(&mutant.name).is_some_and(|one| one.fate == Fate::Missed)
        };
        chosen.iter().filter(missed).cloned().collect()
    }

    /// Those that no test has caught.
    pub(super) fn survivors(&self) -> BTreeSet<Key> {
        let survived = |one: &&Outcome| matches!(one.fate, Fate::Missed | Fate::Timeout);
        self.all.values().filter(survived).map(|one| one.mutant.key()).collect()
    }

    fn count(&self, fate: Fate) -> usize {
        self.all.values().filter(|one| one.fate == fate).count()
    }

    fn asserted(&self) -> usize {
        let by_assertion =
            |one: &&Outcome| one.witness.as_ref().is_some_and(|(_, asserts)| *asserts);
        self.all.values().filter(by_assertion).count()
    }

    fn viable(&self) -> usize {
        self.all.len() - self.count(Fate::Unviable)
    }

    /// The share of those that compile which a test caught by an assertion.
    fn share(&self) -> f64 {
        self.asserted() as f64 / self.viable().max(1) as f64
    }

    pub(super) fn sentence(&self) -> String {
        let [caught, missed, timeout, unviable] = Fate::ALL.map(|fate| self.count(fate));
        let (low, high) = wilson(self.asserted(), self.viable());
        let interval = if self.all.len() == self.run.of {
            String::new()
        } else {
            format!(", {:.1} to {:.1} of all in 19 of 20 samples", 100.0 * low, 100.0 * high)
        };
        format!(
            "{} of {} tried: {caught} caught, {} of them by an assertion, {timeout} without end, {missed} missed, \
             {unviable} that do not compile; {:.1} % of {} by an assertion{interval}",
            self.all.len(),
            self.run.of,
            self.asserted(),
            100.0 * self.share(),
            self.viable(),
        )
    }

    pub(super) fn write_part(&self, root: &Path, name: &str) -> Result {
        let folder = root.join(PARTS);
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        self.write(&folder.join(format!("{name}.json")), &BTreeMap::new())
    }

    fn write(&self, path: &Path, reasons: &BTreeMap<Key, String>) -> Result {
        let mutants: Vec<Value> = self.all.values().map(|one| shown(one, reasons)).collect();
        let Run { seed, of, cargo_mutants, rustc, commit } = &self.run;
        let value = json!({
            "seed": seed, "of": of, "cargo_mutants": cargo_mutants, "rustc": rustc, "commit": commit,
            "says": self.sentence(), "mutants": mutants,
        });
        let text = serde_json::to_string_pretty(&value).map_err(|error| error.to_string())?;
        fs::write(path, text + "\n").map_err(|error| format!("{}: {error}", path.display()))
    }

    pub(super) fn read(path: &Path) -> Result<Self> {
        let wrong = |what: String| format!("{}: {what}", path.display());
        let text = fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
        let value: Value = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        let run = Run::read(&value).ok_or_else(|| wrong("needed what was run".into()))?;
        let mut outcomes = Self::new(run);
        for one in value["mutants"].as_array().into_iter().flatten() {
            let one = read(one).ok_or_else(|| wrong(format!("found {one}")))?;
            outcomes.add(vec![one]);
        }
        Ok(outcomes)
    }
}

fn shown(one: &Outcome, reasons: &BTreeMap<Key, String>) -> Value {
    let mut value = json!({ "name": one.mutant.name, "fate": one.fate.word() });
    match (&one.witness, one.fate) {
        (Some((test, asserts)), _) => {
            value["test"] = json!(test);
            value["asserts"] = json!(asserts);
        }
        (None, Fate::Missed | Fate::Timeout) => {
            value["line"] = json!(one.mutant.line);
            value["reason"] = json!(reasons.get(&one.mutant.key()));
        }
        _ => {}
    }
    value
}

fn read(value: &Value) -> Option<Outcome> {
    let name = value["name"].as_str()?.to_owned();
    let file = name.split(':').next()?.to_owned();
    let line = value["line"].as_str().unwrap_or_default().to_owned();
    let fate = Fate::ALL.into_iter().find(|fate| value["fate"] == fate.word())?;
    let test = value["test"].as_str().map(str::to_owned);
    let witness = test.map(|test| (test, value["asserts"] == true));
    Some(Outcome { mutant: Mutant { name, file, line }, fate, witness })
}

/// 95 of 100 intervals like this hold the share of which so many of so many are a random sample (Wilson 1927).
fn wilson(found: usize, of: usize) -> (f64, f64) {
    const Z: f64 = 1.959_964;
    if of == 0 {
        return (0.0, 1.0);
    }
    let (count, share) = (of as f64, found as f64 / of as f64);
    let scale = 1.0 + Z * Z / count;
    let middle = (share + Z * Z / (2.0 * count)) / scale;
    let half = Z / scale * (share * (1.0 - share) / count + Z * Z / (4.0 * count * count)).sqrt();
    (middle - half, middle + half)
}

/// Puts the parts together, the newest last, and says what is wanting.
pub(super) fn merge(root: &Path, to: &str) -> Result {
    let known: BTreeMap<String, Mutant> =
        order::all(root)?.into_iter().map(|mutant| (mutant.name.clone(), mutant)).collect();
    let mut parts = Vec::new();
    for path in fs::read_dir(root.join(PARTS)).into_iter().flatten().flatten().map(|it| it.path()) {
        let changed = path.metadata().and_then(|data| data.modified());
        parts.push((changed.map_err(|error| error.to_string())?, Outcomes::read(&path)?));
    }
    parts.sort_by_key(|(changed, _)| *changed);
    let run = parts.last().map(|(_, part)| part.run.clone());
    let run = run.ok_or(format!("found no part in {PARTS}; type `cargo xtask mutants`"))?;
    let mut outcomes = Outcomes::new(Run { of: known.len(), ..run });
    for one in parts.into_iter().flat_map(|(_, part)| part.all.into_values()) {
        // The line is that of now; what the laws have no more is dropped.
        if let Some(mutant) = known.get(&one.mutant.name) {
            outcomes.add(vec![Outcome { mutant: mutant.clone(), ..one }]);
        }
    }
    let reasons = reasons(root)?;
    outcomes.write(&root.join(to), &reasons)?;
    println!("{}", outcomes.sentence());
    verdict(&outcomes, &reasons)
}

fn verdict(outcomes: &Outcomes, reasons: &BTreeMap<Key, String>) -> Result {
    let missed = outcomes.all.values().filter(|one| one.fate == Fate::Missed);
    let without = missed.filter(|one| !reasons.contains_key(&one.mutant.key()));
    let names: Vec<&str> = without.map(|one| one.mutant.name.as_str()).collect();
    if !names.is_empty() {
        let names = names.join("\n  ");
        return Err(format!("these need a test, or a reason in {REASONS}:\n  {names}"));
    }
    if outcomes.share() < LEAST {
        return Err(format!("needed {} % caught by an assertion", 100.0 * LEAST));
    }
    Ok(())
}

/// What [`REASONS`] says of each.
fn reasons(root: &Path) -> Result<BTreeMap<Key, String>> {
    let text = fs::read_to_string(root.join(REASONS)).unwrap_or_default();
    read_reasons(&text).map_err(|error| format!("{REASONS}: {error}"))
}

fn read_reasons(text: &str) -> Result<BTreeMap<Key, String>> {
    let table: toml::Table = text.parse().map_err(|error| format!("{error}"))?;
    let entries = table.get("survivor").and_then(toml::Value::as_array).into_iter().flatten();
    let read = |entry: &toml::Value| {
        let text = |key: &str| entry.get(key).and_then(toml::Value::as_str).map(str::to_owned);
        let key = (text("file")?, text("change")?, text("line")?);
        Some((key, text("reason").filter(|reason| !reason.is_empty())?))
    };
    let read = |entry: &toml::Value| {
        read(entry).ok_or(format!("needed file, change, line and reason, found {entry}"))
    };
    entries.map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(number: u32, fate: Fate, witness: Option<bool>) -> Outcome {
        let file = "crates/control/src/law.rs".to_owned();
        let name = format!("{file}:{number}:9: replace < with <= in law");
        let witness = witness.map(|asserts| ("law::tests::one".to_owned(), asserts));
        Outcome { mutant: Mutant { name, file, line: "a < b".into() }, fate, witness }
    }

    fn outcomes() -> Outcomes {
        let text = |text: &str| text.to_owned();
        let run = Run {
            seed: 1,
            of: 40,
            cargo_mutants: text("cargo-mutants 27"),
            rustc: text("rustc 1"),
            commit: text("abc"),
        };
        let mut outcomes = Outcomes::new(run);
        outcomes.add((0..9).map(|n| outcome(n, Fate::Caught, Some(n > 0))).collect());
        outcomes.add(vec![outcome(9, Fate::Missed, None), outcome(10, Fate::Unviable, None)]);
        outcomes.add(vec![outcome(11, Fate::Timeout, None)]);
        outcomes
    }

    #[test]
    fn a_share_is_of_those_that_compile_and_by_assertions() {
        let found = outcomes();
        assert_eq!((found.viable(), found.asserted()), (11, 8));
        let says = "12 of 40 tried: 9 caught, 8 of them by an assertion, 1 without end, 1 missed, \
                    1 that do not compile; 72.7 % of 11 by an assertion, 43.4 to 90.3 of all in 19 of 20 samples";
        assert_eq!(found.sentence(), says);
        assert_eq!(found.survivors().len(), 1, "both are known by the same words and line");
    }

    /// By hand, for 45 of 50.
    #[test]
    fn an_interval_holds_the_share() {
        let (low, high) = wilson(45, 50);
        assert!((low - 0.7864).abs() < 1e-3 && (high - 0.9565).abs() < 1e-3, "{low} to {high}");
        assert_eq!(wilson(0, 0), (0.0, 1.0));
    }

    #[test]
    fn what_is_written_is_read_again() {
        let path = std::env::temp_dir().join(format!("xtask-mutants-{}", std::process::id()));
        outcomes().write(&path, &BTreeMap::new()).unwrap();
        let read = Outcomes::read(&path);
        fs::remove_file(&path).unwrap();
        let read = read.unwrap();
        assert_eq!(read.sentence(), outcomes().sentence());
        assert_eq!(read.survivors(), outcomes().survivors());
    }

    #[test]
    fn a_survivor_needs_a_reason_and_the_share_must_suffice() {
        let text = r#"
            [[survivor]]
            file = "crates/control/src/law.rs"
            change = "replace < with <= in law"
            line = "a < b"
            reason = "both are the same at b"
        "#;
        let reasons = read_reasons(text).unwrap();
        assert!(verdict(&outcomes(), &BTreeMap::new()).unwrap_err().contains("law.rs:9:9"));
        assert!(verdict(&outcomes(), &reasons).unwrap_err().contains("90 %"));
        let mut good = outcomes();
        good.add((20..60).map(|n| outcome(n, Fate::Caught, Some(true))).collect());
        assert_eq!(verdict(&good, &reasons), Ok(()));
        assert!(read_reasons("[[survivor]]\nfile = \"a\"").unwrap_err().contains("reason"));
    }

    /// A law that moves to another file takes its survivors along, and their reasons must follow.
    #[test]
    fn the_lines_of_all_reasons_stand_in_their_files() {
        let root = crate::root().unwrap();
        let reasons = reasons(&root).unwrap();
        assert!(!reasons.is_empty(), "{REASONS} has no reasons");
        for (file, change, line) in reasons.keys() {
            let text = fs::read_to_string(root.join(file)).unwrap_or_default();
            let stands = text.lines().any(|in_file| in_file.trim() == line);
            assert!(stands, "{REASONS}: {file} has no line `{line}` ({change})");
        }
    }
}
