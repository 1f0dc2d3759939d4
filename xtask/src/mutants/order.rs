//! Which mutants there are, and in which order they are tried.

use crate::Result;
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use tailwater_core::fnv::{START, fnv1a};

/// One change of one law.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Mutant {
    /// As cargo-mutants names it: file, line, column, and what is replaced with what.
    pub(super) name: String,
    pub(super) file: String,
    /// The line of source that it changes, without the space around it.
    pub(super) line: String,
}

/// What a mutant is known by although lines move: its file, its words and its line's text.
pub(super) type Key = (String, String, String);

impl Mutant {
    pub(super) fn key(&self) -> Key {
        (self.file.clone(), self.words().to_owned(), self.line.clone())
    }

    /// The number of its line, from 1; 0 where the name has none.
    pub(super) fn number(&self) -> usize {
        self.name.split(':').nth(1).and_then(|number| number.parse().ok()).unwrap_or(0)
    }

    /// Its line and its column, for an order.
    pub(super) fn place(&self) -> (usize, usize) {
        let column = self.name.split(':').nth(2).and_then(|column| column.parse().ok());
        (self.number(), column.unwrap_or(0))
    }

    /// The name without file, line and column.
    fn words(&self) -> &str {
        words_of(&self.name)
    }
}

/// What a mutant's name says after its place.
pub(super) fn words_of(name: &str) -> &str {
    name.split_once(": ").map_or(name, |(_, words)| words)
}

/// Some of all mutants, in their order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Part {
    All,
    /// So many: a random sample, in which each file has its share.
    First(usize),
    /// Every `count`th from the one numbered `index` on.
    Shard {
        index: usize,
        count: usize,
    },
}

impl Part {
    /// `I/N`, where I is from 0 to below N.
    pub(super) fn shard(said: &str) -> Option<Self> {
        let (index, count) = said.split_once('/')?;
        let (index, count) = (index.parse().ok()?, count.parse().ok()?);
        (index < count).then_some(Self::Shard { index, count })
    }

    /// What its folder and file are called.
    pub(super) fn name(&self, seed: u64) -> String {
        match self {
            Self::All => format!("seed-{seed}"),
            Self::First(count) => format!("seed-{seed}-first-{count}"),
            Self::Shard { index, count } => format!("seed-{seed}-shard-{index}-of-{count}"),
        }
    }

    pub(super) fn of(&self, all: &[Mutant]) -> Vec<Mutant> {
        let (first, step, most) = match *self {
            Self::All => (0, 1, usize::MAX),
            Self::First(count) => (0, 1, count),
            Self::Shard { index, count } => (index, count, usize::MAX),
        };
        all.iter().skip(first).step_by(step).take(most).cloned().collect()
    }
}

/// Every mutant that `.cargo/mutants.toml` allows.
pub(super) fn all(root: &Path) -> Result<Vec<Mutant>> {
    let mut command = Command::new("cargo");
    command.args(["mutants", "--list", "--json"]).current_dir(root);
    let output =
        command.output().map_err(|error| format!("could not start cargo mutants: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let typed = "cargo install --locked cargo-mutants";
        return Err(format!(
            "`cargo mutants --list` failed; if it is not there, type: {typed}\n{said}"
        ));
    }
    let listed = serde_json::from_slice(&output.stdout);
    let listed: Vec<Value> =
        listed.map_err(|error| format!("cargo mutants listed no JSON: {error}"))?;
    listed.iter().map(|one| read(root, one)).collect()
}

fn read(root: &Path, one: &Value) -> Result<Mutant> {
    let text = |key: &str| one[key].as_str().map(str::to_owned);
    let line = one["span"]["start"]["line"].as_u64();
    let (Some(name), Some(file), Some(line)) = (text("name"), text("file"), line) else {
        return Err(format!("needed a mutant with name, file and span, found {one}"));
    };
    let source = std::fs::read_to_string(root.join(&file))
        .map_err(|error| format!("could not read {file}: {error}"))?;
    let line = usize::try_from(line).ok().and_then(|line| source.lines().nth(line.checked_sub(1)?));
    Ok(Mutant { name, file, line: line.unwrap_or_default().trim().to_owned() })
}

/// The order that a seed gives: random within each file, and such that any beginning of it has of each file about the
/// same share. So the first are a stratified random sample of all.
pub(super) fn ordered(all: Vec<Mutant>, seed: u64) -> Vec<Mutant> {
    let mut files: std::collections::BTreeMap<String, Vec<Mutant>> = Default::default();
    for mutant in all {
        files.entry(mutant.file.clone()).or_default().push(mutant);
    }
    let mut placed = Vec::new();
    for (file, mut mutants) in files {
        mutants.sort_by_key(|mutant| hash(seed, &mutant.name));
        let (count, offset) = (mutants.len() as f64, hash(seed, &file) as f64 / u64::MAX as f64);
        let places = (0..).map(|rank: u32| (f64::from(rank) + offset) / count);
        placed.extend(places.zip(mutants));
    }
    placed.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
    placed.into_iter().map(|(_, mutant)| mutant).collect()
}

/// FNV-1a of the seed and the text, mixed as by SplitMix64: the same on every machine and for ever.
fn hash(seed: u64, text: &str) -> u64 {
    let mut hash = fnv1a(START, seed.to_le_bytes().into_iter().chain(text.bytes()));
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::fs;

    /// Of the crate of the laws: reading of settings, the catalogue, and what is told of a server.
    const LEFT_OUT: &[&str] =
        &["catalog", "config_error.rs", "family", "lib.rs", "none", "site.rs"];

    /// A law that moves into a new file or folder must not get lost from the list, as that of stamps once did.
    #[test]
    fn each_file_and_folder_of_the_laws_is_examined_or_left_out_by_name() {
        const LAWS: &str = "crates/control/src/";
        let root = crate::root().unwrap();
        let text = fs::read_to_string(root.join(".cargo/mutants.toml")).unwrap();
        let table: toml::Table = text.parse().unwrap();
        let globs = table["examine_globs"].as_array().unwrap().iter();
        let mut named: BTreeSet<String> = LEFT_OUT.iter().map(|name| (*name).to_owned()).collect();
        for glob in globs.map(|glob| glob.as_str().unwrap()) {
            let parts = glob.strip_prefix(LAWS).and_then(|glob| glob.strip_prefix('{'));
            let (words, ending) = parts.and_then(|parts| parts.split_once('}')).expect(glob);
            let ending = ending.trim_end_matches("/**");
            named.extend(words.split(',').map(|word| format!("{word}{ending}")));
        }
        let there = fs::read_dir(root.join(LAWS)).unwrap();
        let there = there.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
        assert_eq!(there.collect::<BTreeSet<_>>(), named, "found beside what is listed");
    }

    fn mutants(counts: &[(&str, u32)]) -> Vec<Mutant> {
        let of = |(file, count): &(&str, u32)| {
            let file = (*file).to_owned();
            (0..*count).map(move |line| {
                let name = format!("{file}:{line}:9: replace + with - in law");
                Mutant { name, file: file.clone(), line: String::new() }
            })
        };
        counts.iter().flat_map(of).collect()
    }

    #[test]
    fn each_beginning_has_of_each_file_its_share() {
        let all = mutants(&[("a", 400), ("b", 100), ("c", 10)]);
        let order = ordered(all.clone(), 3);
        for first in [51, 102, 255, 510] {
            let chosen = Part::First(first).of(&order);
            for (file, share) in [("a", 400.0), ("b", 100.0), ("c", 10.0)] {
                let found = chosen.iter().filter(|it| it.file == file).count() as f64;
                let due = share * first as f64 / 510.0;
                assert!((found - due).abs() <= 2.0, "{found} of {due} of {file} in {first}");
            }
        }
        assert_eq!(order, ordered(all.clone(), 3), "a seed decides");
        assert_ne!(order, ordered(all, 4));
    }

    #[test]
    fn shards_are_all_and_each_once() {
        let all = mutants(&[("a", 30), ("b", 5)]);
        let shards = (0..4).flat_map(|index| Part::Shard { index, count: 4 }.of(&all));
        let mut found: Vec<Mutant> = shards.collect();
        found.sort();
        let mut all = all;
        all.sort();
        assert_eq!(found, all);
    }

    #[test]
    fn a_mutant_is_known_by_its_words_wherever_its_line_is() {
        let at = |name: &str| Mutant { name: name.into(), file: "f".into(), line: "a < b".into() };
        assert_eq!(at("f:1:2: replace < with <=").key(), at("f:7:2: replace < with <=").key());
        assert_ne!(at("f:1:2: replace < with <=").key(), at("f:1:2: replace < with >").key());
        assert_eq!(at("f:10:2: replace < with <=").place(), (10, 2));
    }
}
