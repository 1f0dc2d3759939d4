//! Names of public types: where one reader meets two of a name, both mean the same, or a reason is given.

use super::Problem;
use super::layers::internal;
use super::shipped::shipped;
use crate::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};

/// A name that several types have, the crates that have it, by their names' order, and why.
type Twins = (&'static str, &'static [&'static str], &'static str);

const THREADS_AND_TASKS: &str =
    "one lock for threads and its twin for tasks, which no program mixes";
const FAMILIES: &str = "each controller's folder has its own, and nothing names two of them";
const A_LAYER_DOWN: &str = "the same thing, as the layer below sees it";
const OF_FIGURES: &str = "of a figure; no code of figures names the one of scenarios";

/// All that there are.
const KNOWN: &[Twins] = &[
    ("Claim", &["figures", "workload"], OF_FIGURES),
    ("Client", &["control", "rt"], A_LAYER_DOWN),
    ("Config", &["control"], FAMILIES),
    ("Course", &["figures", "workload"], OF_FIGURES),
    ("Event", &["core", "rt"], "what a controller tells its observer, and a channel its driver"),
    ("Failure", &["control", "sim"], "of a try, and of a simulated experiment"),
    ("Fault", &["figures", "workload"], OF_FIGURES),
    ("Growth", &["control"], FAMILIES),
    ("Mutex", &["sync"], THREADS_AND_TASKS),
    ("MutexGuard", &["sync"], THREADS_AND_TASKS),
    ("Permit", &["control", "sync"], "of a semaphore, and of a gate, which no lock has"),
    ("ReadGuard", &["sync"], THREADS_AND_TASKS),
    ("Reply", &["control", "rt"], A_LAYER_DOWN),
    ("Report", &["profile"], "each analysis ends in its own, and its folder's name says which"),
    ("Request", &["rt", "wire"], A_LAYER_DOWN),
    ("RwLock", &["sync"], THREADS_AND_TASKS),
    ("Semaphore", &["sync"], THREADS_AND_TASKS),
    ("Shard", &["control", "experiment"], "of a controller, and of an experiment by `--shard`"),
    ("Switch", &["control", "sim"], "of a guard's mode, and of a simulated node's model"),
    ("WriteGuard", &["sync"], THREADS_AND_TASKS),
];

/// A public type, and where it is declared.
struct Declared<'a> {
    of: &'a str,
    place: String,
}

/// No crate has two public types of a name, nor one that a crate below it has, but for [`KNOWN`].
pub(super) fn have_one_meaning(tree: &Tree) -> Vec<Problem> {
    against(tree, KNOWN)
}

fn against(tree: &Tree, known: &[Twins]) -> Vec<Problem> {
    let below = below(tree);
    let mut problems = Vec::new();
    let mut met = BTreeMap::new();
    for (name, types) in declared(tree) {
        let crates = meeting(&types, &below);
        let expected = known.iter().find(|twins| twins.0 == name).map(|twins| twins.1);
        if !crates.is_empty()
            && !expected.is_some_and(|all| crates.iter().copied().eq(all.iter().copied()))
        {
            problems.push(clash(name, &types, &crates));
        }
        met.insert(name, crates);
    }
    // Of a part of the repository, such as the trees of tests, nothing can be said to have gone.
    let is_whole = |twins: &&Twins| twins.1.iter().all(|of| below.contains_key(of));
    let is_gone = |twins: &&Twins| met.get(twins.0).is_none_or(BTreeSet::is_empty);
    problems.extend(known.iter().filter(is_whole).filter(is_gone).map(|twins| gone(twins.0)));
    problems
}

/// Every public type of every crate, by name.
fn declared(tree: &Tree) -> BTreeMap<&str, Vec<Declared<'_>>> {
    let mut found: BTreeMap<&str, Vec<Declared<'_>>> = BTreeMap::new();
    let is_shipped = |path: &str| !path.contains("/tests/") && !path.ends_with("/tests.rs");
    for (path, text) in tree.matching("crates/", ".rs").filter(|(path, _)| is_shipped(path)) {
        let Some((of, rest)) = path["crates/".len()..].split_once('/') else { continue };
        for (line, number) in shipped(text).zip(1..).filter(|_| rest.starts_with("src/")) {
            if let Some(name) = public_type(line) {
                let place = format!("{path}:{number}");
                found.entry(name).or_default().push(Declared { of, place });
            }
        }
    }
    found
}

/// The name in `pub struct Name`, and the like.
fn public_type(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("pub ")?;
    let kinds = ["struct ", "enum ", "trait ", "union "];
    let rest = kinds.iter().find_map(|kind| rest.strip_prefix(kind))?;
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    (end > 0).then(|| &rest[..end])
}

/// The crates on which each stands, directly or not.
fn below(tree: &Tree) -> BTreeMap<&str, BTreeSet<String>> {
    let direct = |name: &str| -> BTreeSet<String> {
        let text = tree.text(&format!("crates/{name}/Cargo.toml")).unwrap_or_default();
        // What is no TOML is told by the check on layers.
        let manifest = text.parse().unwrap_or_default();
        internal(&manifest, &["dependencies"]).into_iter().collect()
    };
    let mut all: BTreeMap<&str, _> =
        tree.crates().into_iter().map(|name| (name, direct(name))).collect();
    loop {
        let wider: BTreeMap<&str, BTreeSet<String>> = all
            .iter()
            .map(|(name, used)| {
                let further = used.iter().filter_map(|one| all.get(one.as_str())).flatten();
                (*name, used.iter().chain(further).cloned().collect())
            })
            .collect();
        if wider == all {
            return all;
        }
        all = wider;
    }
}

/// The crates whose types of one name a reader of one of them meets.
fn meeting<'a>(
    types: &[Declared<'a>],
    below: &BTreeMap<&str, BTreeSet<String>>,
) -> BTreeSet<&'a str> {
    let uses = |one: &str, other: &str| below.get(one).is_some_and(|all| all.contains(other));
    let mut met = BTreeSet::new();
    for (at, one) in types.iter().enumerate() {
        for other in &types[..at] {
            if one.of == other.of || uses(one.of, other.of) || uses(other.of, one.of) {
                met.extend([one.of, other.of]);
            }
        }
    }
    met
}

fn clash(name: &str, types: &[Declared<'_>], crates: &BTreeSet<&str>) -> Problem {
    let places: Vec<&str> =
        types.iter().filter(|one| crates.contains(one.of)).map(|one| one.place.as_str()).collect();
    let found = format!("found the public type {name} several times: {}", places.join(", "));
    let mend = "name each by what it is (docs/glossary.md), or write into KNOWN of xtask/src/tidy/types.rs why both \
                have the name";
    Problem::new(places[0], found, mend)
}

fn gone(name: &str) -> Problem {
    let found = format!("found a reason for several types {name}, which do not meet any more");
    Problem::new("xtask/src/tidy/types.rs", found, "take it out of KNOWN")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CORE: (&str, &str) = ("crates/core/Cargo.toml", "");
    const MIDDLE: (&str, &str) =
        ("crates/middle/Cargo.toml", "[dependencies]\ntailwater-core.workspace = true\n");
    const TOP: (&str, &str) =
        ("crates/top/Cargo.toml", "[dependencies]\ntailwater-middle.workspace = true\n");
    const RATE: (&str, &str) = ("crates/core/src/units.rs", "/// A rate.\npub struct Rate(f64);\n");

    fn found(tree: &Tree, known: &[Twins]) -> Vec<String> {
        against(tree, known).into_iter().map(|problem| problem.found).collect()
    }

    #[test]
    fn a_name_of_a_crate_below_and_one_of_the_own_are_found() {
        let upper = ("crates/top/src/clock.rs", "pub enum Rate<'a> {\n");
        let tree = Tree::from([CORE, MIDDLE, TOP, RATE, upper]);
        let expected = "found the public type Rate several times: crates/core/src/units.rs:2, crates/top/src/clock.rs:1";
        assert_eq!(found(&tree, &[]), [expected]);
        let twice = ("crates/core/src/rate.rs", "mod inner {\n    pub trait Rate {}\n}\n");
        assert_eq!(found(&Tree::from([CORE, RATE, twice]), &[]).len(), 1);
    }

    #[test]
    fn a_reason_is_of_all_crates_that_have_the_name_and_no_others() {
        let upper = ("crates/top/src/clock.rs", "pub struct Rate;\n");
        let tree = Tree::from([CORE, MIDDLE, TOP, RATE, upper]);
        assert!(found(&tree, &[("Rate", &["core", "top"], "")]).is_empty());
        assert_eq!(found(&tree, &[("Rate", &["core"], "")]).len(), 1, "top is new");
        let gone = "found a reason for several types Rate, which do not meet any more";
        let tree = Tree::from([CORE, MIDDLE, TOP, RATE]);
        assert_eq!(found(&tree, &[("Rate", &["core", "top"], "")]), [gone]);
    }

    #[test]
    fn what_no_reader_meets_may_have_any_name() {
        let other = ("crates/other/Cargo.toml", "");
        let apart = ("crates/other/src/lib.rs", "pub struct Rate;\n");
        let private = ("crates/top/src/a.rs", "pub(crate) struct Rate;\nstruct Rate;\n");
        let test = ("crates/top/src/b.rs", "#[cfg(test)]\nmod tests {\n    pub struct Rate;\n}\n");
        let tests = ("crates/top/tests/c.rs", "pub struct Rate;\n");
        let tree = Tree::from([CORE, MIDDLE, TOP, RATE, other, apart, private, test, tests]);
        assert!(found(&tree, &[]).is_empty());
    }
}
