//! What came of mutants: parts of it, the result of all parts, and what it says.

use super::moved::still_there;
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
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Run {
    commit: String,
    /// `None` where no order chose them.
    seed: Option<u64>,
    cargo_mutants: String,
    rustc: String,
}

impl Run {
    pub(super) fn of(root: &Path, seed: Option<u64>) -> Result<Self> {
        let commit = said(root, "git", &["describe", "--always", "--dirty", "--exclude=*"])?;
        let cargo_mutants = said(root, "cargo", &["mutants", "--version"])?;
        Ok(Self { commit, seed, cargo_mutants, rustc: said(root, "rustc", &["--version"])? })
    }

    /// What its part is called. One of an earlier commit stays beside it. Without that one, what a still older part says of
    /// its mutants would count anew.
    pub(super) fn part(&self, name: &str) -> String {
        format!("{name}-at-{}", self.commit)
    }

    fn read(value: &Value) -> Option<Self> {
        let text = |key: &str| value[key].as_str().map(str::to_owned);
        Some(Self {
            commit: text("commit")?,
            seed: value["seed"].as_u64(),
            cargo_mutants: text("cargo_mutants")?,
            rustc: text("rustc")?,
        })
    }

    fn shown(&self) -> Value {
        let Self { commit, seed, cargo_mutants, rustc } = self;
        json!({ "commit": commit, "seed": seed, "cargo_mutants": cargo_mutants, "rustc": rustc })
    }
}

/// What came of some of all mutants. All are named as in one tree, though each has the run in which it was tried.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Outcomes {
    /// All mutants that there are, or of which these were chosen.
    of: usize,
    /// By name.
    all: BTreeMap<String, (Run, Outcome)>,
}

impl Outcomes {
    pub(super) fn new(of: usize) -> Self {
        Self { of, all: BTreeMap::new() }
    }

    /// With these of a run, each in place of what was known of it.
    pub(super) fn add(&mut self, run: &Run, found: Vec<Outcome>) {
        let named = found.into_iter().map(|one| (one.mutant.name.clone(), (run.clone(), one)));
        self.all.extend(named);
    }

    fn each(&self) -> impl Iterator<Item = &Outcome> {
        self.all.values().map(|(_, one)| one)
    }

    fn runs(&self) -> BTreeSet<&Run> {
        self.all.values().map(|(run, _)| run).collect()
    }

    /// What of these is of mutants of now, by their names of now.
    fn of_now(self, now: &[Mutant]) -> BTreeMap<String, (Run, Outcome)> {
        let before: Vec<&Mutant> = self.each().map(|one| &one.mutant).collect();
        let still = still_there(&before, now);
        let found = self.all.into_iter().filter_map(|(name, (run, one))| {
            let mutant = still.get(&name)?.clone();
            Some((mutant.name.clone(), (run, Outcome { mutant, ..one })))
        });
        found.collect()
    }

    /// Those of `now` of which these tell nothing, in their order.
    pub(super) fn untried(self, now: Vec<Mutant>) -> Vec<Mutant> {
        let tried = self.of_now(&now);
        now.into_iter().filter(|mutant| !tried.contains_key(&mutant.name)).collect()
    }

    pub(super) fn missed_of(&self, chosen: &[Mutant]) -> Vec<Mutant> {
        let missed = |mutant: &&Mutant| {
            self.all.get(&mutant.name).is_some_and(|(_, one)| one.fate == Fate::Missed)
        };
        chosen.iter().filter(missed).cloned().collect()
    }

    /// Those that no test has caught.
    pub(super) fn survivors(&self) -> BTreeSet<Key> {
        let survived = |one: &&Outcome| matches!(one.fate, Fate::Missed | Fate::Timeout);
        self.each().filter(survived).map(|one| one.mutant.key()).collect()
    }

    fn count(&self, fate: Fate) -> usize {
        self.each().filter(|one| one.fate == fate).count()
    }

    fn asserted(&self) -> usize {
        let by_assertion =
            |one: &&Outcome| one.witness.as_ref().is_some_and(|(_, asserts)| *asserts);
        self.each().filter(by_assertion).count()
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
        format!(
            "{} of {} tried: {caught} caught, {} of them by an assertion, {timeout} without end, {missed} missed, \
             {unviable} that do not compile; {:.1} % of {} by an assertion{}{}",
            self.all.len(),
            self.of,
            self.asserted(),
            100.0 * self.share(),
            self.viable(),
            self.interval(),
            self.commits(),
        )
    }

    /// Only one run is the beginning of one order, so that others are no random sample.
    fn interval(&self) -> String {
        if self.all.len() == self.of || self.runs().len() > 1 {
            return String::new();
        }
        let (low, high) = wilson(self.asserted(), self.viable());
        format!(", {:.1} to {:.1} of all in 19 of 20 samples", 100.0 * low, 100.0 * high)
    }

    /// At which commits they were tried, where it is not one alone.
    fn commits(&self) -> String {
        let mut commits: BTreeMap<&str, usize> = BTreeMap::new();
        for (run, _) in self.all.values() {
            *commits.entry(&run.commit).or_default() += 1;
        }
        if commits.len() < 2 {
            return String::new();
        }
        let each: Vec<String> =
            commits.iter().map(|(commit, count)| format!("{count} at {commit}")).collect();
        format!("; {}", each.join(", "))
    }

    pub(super) fn write_part(&self, root: &Path, name: &str) -> Result {
        let folder = root.join(PARTS);
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        self.write(&folder.join(format!("{name}.json")), &BTreeMap::new())
    }

    fn write(&self, path: &Path, reasons: &BTreeMap<Key, String>) -> Result {
        let runs: Vec<&Run> = self.runs().into_iter().collect();
        let mutants = self.all.values().map(|(run, one)| {
            let mut value = shown(one, reasons);
            value["run"] = json!(runs.iter().position(|it| *it == run));
            value
        });
        let mutants: Vec<Value> = mutants.collect();
        let runs: Vec<Value> = runs.iter().map(|run| run.shown()).collect();
        let value =
            json!({ "of": self.of, "runs": runs, "says": self.sentence(), "mutants": mutants });
        let text = serde_json::to_string_pretty(&value).map_err(|error| error.to_string())?;
        fs::write(path, text + "\n").map_err(|error| format!("{}: {error}", path.display()))
    }

    pub(super) fn read(path: &Path) -> Result<Self> {
        let wrong = |what: String| format!("{}: {what}", path.display());
        let text = fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
        Self::parse(&text).map_err(wrong)
    }

    fn parse(text: &str) -> Result<Self> {
        let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let runs = value["runs"].as_array();
        let runs: Option<Vec<Run>> = runs.and_then(|all| all.iter().map(Run::read).collect());
        let of = value["of"].as_u64().and_then(|of| usize::try_from(of).ok());
        let (Some(runs), Some(of)) = (runs, of) else {
            return Err("needed what was run".into());
        };
        let mut outcomes = Self::new(of);
        for one in value["mutants"].as_array().into_iter().flatten() {
            let run = one["run"].as_u64().and_then(|run| runs.get(usize::try_from(run).ok()?));
            let (Some(run), Some(outcome)) = (run, read(one)) else {
                return Err(format!("found {one}"));
            };
            outcomes.add(run, vec![outcome]);
        }
        Ok(outcomes)
    }
}

fn shown(one: &Outcome, reasons: &BTreeMap<Key, String>) -> Value {
    let Mutant { name, line, .. } = &one.mutant;
    let mut value = json!({ "name": name, "line": line, "fate": one.fate.word() });
    match (&one.witness, one.fate) {
        (Some((test, asserts)), _) => {
            value["test"] = json!(test);
            value["asserts"] = json!(asserts);
        }
        (None, Fate::Missed | Fate::Timeout) => {
            value["reason"] = json!(reasons.get(&one.mutant.key()));
        }
        _ => {}
    }
    value
}

fn read(value: &Value) -> Option<Outcome> {
    let name = value["name"].as_str()?.to_owned();
    let file = name.split(':').next()?.to_owned();
    let line = value["line"].as_str()?.to_owned();
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

/// Adds the parts, the newest last, to the result that there is, and says what is wanting.
pub(super) fn merge(root: &Path, to: &str) -> Result {
    let now = order::all(root)?;
    let mut parts = Vec::new();
    for path in fs::read_dir(root.join(PARTS)).into_iter().flatten().flatten().map(|it| it.path()) {
        let changed = path.metadata().and_then(|data| data.modified());
        parts.push((changed.map_err(|error| error.to_string())?, Outcomes::read(&path)?));
    }
    if parts.is_empty() {
        return Err(format!("found no part in {PARTS}; type `cargo xtask mutants`"));
    }
    parts.sort_by_key(|(changed, _)| *changed);
    let to = root.join(to);
    let before = if to.exists() { Some(Outcomes::read(&to)?) } else { None };
    let outcomes = union(before, parts.into_iter().map(|(_, part)| part), &now);
    let reasons = reasons(root)?;
    outcomes.write(&to, &reasons)?;
    println!("{}", outcomes.sentence());
    verdict(&outcomes, &reasons)
}

/// What is known of the mutants of now. The line of each is that of now, and what the laws have no more is dropped.
fn union(
    before: Option<Outcomes>,
    parts: impl Iterator<Item = Outcomes>,
    now: &[Mutant],
) -> Outcomes {
    // Shards of one run have the names of one tree, and those with one key may be in different shards. The result of before is
    // not among them: its names are those of the tree in which it was merged, whatever its runs.
    let mut trees: Vec<Outcomes> = Vec::new();
    for part in parts {
        match trees.last_mut() {
            Some(last) if last.runs() == part.runs() => last.all.extend(part.all),
            _ => trees.push(part),
        }
    }
    let mut all = BTreeMap::new();
    for tree in before.into_iter().chain(trees) {
        all.extend(tree.of_now(now));
    }
    Outcomes { of: now.len(), all }
}

fn verdict(outcomes: &Outcomes, reasons: &BTreeMap<Key, String>) -> Result {
    let missed = outcomes.each().filter(|one| one.fate == Fate::Missed);
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

    fn run(commit: &str) -> Run {
        let text = |text: &str| text.to_owned();
        Run {
            commit: text(commit),
            seed: Some(1),
            cargo_mutants: text("cargo-mutants 27"),
            rustc: text("rustc 1"),
        }
    }

    fn outcomes() -> Outcomes {
        let mut outcomes = Outcomes::new(40);
        let mut add = |found| outcomes.add(&run("abc"), found);
        add((0..9).map(|n| outcome(n, Fate::Caught, Some(n > 0))).collect());
        add(vec![outcome(9, Fate::Missed, None), outcome(10, Fate::Unviable, None)]);
        add(vec![outcome(11, Fate::Timeout, None)]);
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
        let mut written = outcomes();
        written.add(&run("def"), vec![outcome(12, Fate::Caught, Some(true))]);
        written.write(&path, &BTreeMap::new()).unwrap();
        let read = Outcomes::read(&path);
        fs::remove_file(&path).unwrap();
        assert_eq!(read, Ok(written));
    }

    #[test]
    fn the_committed_result_is_read_and_says_what_it_holds() {
        let path = crate::root().unwrap().join("results/mutants.json");
        let value: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(Outcomes::read(&path).unwrap().sentence(), value["says"]);
    }

    #[test]
    fn outcomes_of_runs_are_added_and_say_at_which_commit_they_were_tried() {
        let named = |number: u32, line: &str, fate, witness| {
            let mut one = outcome(number, fate, witness);
            one.mutant.line = line.into();
            one
        };
        let caught = |number, line| named(number, line, Fate::Caught, Some(true));
        let mut before = Outcomes::new(4);
        let missed = named(2, "b < c", Fate::Missed, None);
        before.add(&run("abc"), vec![caught(1, "a < b"), missed, caught(3, "gone < c")]);
        // Ten lines have come before the law, one line is gone, and two are new.
        let now =
            [caught(11, "a < b"), caught(12, "b < c"), caught(13, "c < d"), caught(3, "d < e")];
        let now = now.map(|one| one.mutant);
        let rest = before.clone().untried(now.to_vec());
        assert_eq!(rest, now[2..], "the third has the name of one that is gone");
        let mut again = Outcomes::new(1);
        again.add(&run("def"), vec![caught(12, "b < c")]);
        let mut shards = [Outcomes::new(2), Outcomes::new(2)];
        shards[0].add(&run("def"), vec![caught(13, "c < d")]);
        let parts = [again.clone(), shards[0].clone()];
        let found = union(Some(before.clone()), parts.into_iter(), &now);
        let says = "3 of 4 tried: 3 caught, 3 of them by an assertion, 0 without end, 0 missed, \
                    0 that do not compile; 100.0 % of 3 by an assertion; 1 at abc, 2 at def";
        assert_eq!(found.sentence(), says);
        shards[1].add(&run("def"), vec![caught(3, "d < e")]);
        let found = union(Some(before), [again].into_iter().chain(shards), &now);
        assert!(found.sentence().starts_with("4 of 4 tried: 4 caught"), "{}", found.sentence());
        assert!(found.clone().untried(now.to_vec()).is_empty());
        let mutants: Vec<&Mutant> = found.each().map(|one| &one.mutant).collect();
        assert!(now.iter().all(|mutant| mutants.contains(&mutant)), "{mutants:?}");
    }

    #[test]
    fn one_run_of_all_needs_no_interval() {
        let mut all = Outcomes::new(2);
        all.add(&run("abc"), vec![outcome(1, Fate::Caught, Some(true))]);
        assert!(all.sentence().ends_with(" of all in 19 of 20 samples"), "{}", all.sentence());
        all.add(&run("abc"), vec![outcome(2, Fate::Caught, Some(true))]);
        assert!(all.sentence().ends_with("100.0 % of 2 by an assertion"), "{}", all.sentence());
    }

    /// Of one line's two operators each shard has one.
    #[test]
    fn shards_are_known_together() {
        let twice = |number, column| {
            let mut one = outcome(number, Fate::Caught, Some(true));
            one.mutant.name = format!("law.rs:{number}:{column}: replace < with <= in law");
            one
        };
        let shard = |one: &Outcome| {
            let mut shard = Outcomes::new(2);
            shard.add(&run("abc"), vec![one.clone()]);
            shard
        };
        let now = [twice(8, 5), twice(8, 9)].map(|one| one.mutant);
        let shards = [shard(&twice(2, 5)), shard(&twice(2, 9))];
        assert_eq!(union(None, shards.clone().into_iter(), &now).all.len(), 2);
        assert_eq!(union(None, shards.into_iter().take(1), &now).all.len(), 0, "it may be either");
    }

    /// Between the run and its merge lines have moved, and after it once more.
    #[test]
    fn a_part_that_is_merged_again_is_not_confused_with_what_the_result_calls_it() {
        let tried = |number| {
            let mut outcomes = Outcomes::new(1);
            outcomes.add(&run("abc"), vec![outcome(number, Fate::Caught, Some(true))]);
            outcomes
        };
        let now = [outcome(30, Fate::Caught, None).mutant];
        assert_eq!(union(Some(tried(20)), [tried(10)].into_iter(), &now).all.len(), 1);
    }

    #[test]
    fn a_part_of_a_later_commit_takes_no_earlier_ones_place() {
        assert_eq!(run("abc").part("again"), "again-at-abc");
        assert_ne!(run("abc").part("again"), run("def").part("again"));
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
        good.add(&run("abc"), (20..60).map(|n| outcome(n, Fate::Caught, Some(true))).collect());
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

    /// Such a reason claims that nothing changes, where a test sees that something does.
    #[test]
    fn no_reason_is_of_a_change_that_the_committed_result_has_as_caught() {
        let root = crate::root().unwrap();
        let result = Outcomes::read(&root.join("results/mutants.json")).unwrap();
        let caught = result.each().filter(|one| one.fate == Fate::Caught);
        let caught: BTreeSet<Key> = caught.map(|one| one.mutant.key()).collect();
        // Two changes of one line may share a key.
        let survivors = result.survivors();
        for key in reasons(&root).unwrap().into_keys() {
            let is_needless = caught.contains(&key) && !survivors.contains(&key);
            assert!(!is_needless, "{REASONS}: a test catches {key:?}");
        }
    }
}
