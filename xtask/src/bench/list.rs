//! What there is to measure, by name: every scenario file, and every program in `benches/`.
//!
//! A folder there that holds no program is passed over only if something says so: another bench uses it, or the
//! workspace excludes it. Any other is an error, and so is an empty list: what is not found would be green.

use super::{Bench, Kind};
use crate::Result;
use crate::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};
use toml::{Table, Value};

const FOLDER: &str = "benches/";

/// All of it, scenarios first.
pub(super) fn list(tree: &Tree) -> Result<Vec<Bench>> {
    let (scenarios, programs) = (scenarios(tree), programs(tree)?);
    for (found, what) in
        [(&scenarios, "scenario in scenarios/"), (&programs, "program in benches/")]
    {
        if found.is_empty() {
            return Err(format!("found no {what}"));
        }
    }
    Ok(scenarios.into_iter().chain(programs).collect())
}

fn scenarios(tree: &Tree) -> Vec<Bench> {
    let named = |(path, text): (&str, &str)| {
        let name = path.strip_prefix("scenarios/")?.strip_suffix(".toml")?;
        (!name.contains('/')).then(|| bench(name, path, Kind::of_scenario(text)))
    };
    tree.matching("scenarios/", ".toml").filter_map(named).collect()
}

fn programs(tree: &Tree) -> Result<Vec<Bench>> {
    let excluded = excluded(tree)?;
    let below =
        tree.matching(FOLDER, "").filter_map(|(path, _)| path[FOLDER.len()..].split_once('/'));
    let folders: BTreeSet<&str> = below.map(|(folder, _)| folder).collect();
    let mut found = Vec::new();
    for name in folders {
        found.extend(program(tree, name, &excluded)?);
    }
    Ok(found)
}

/// The program in this folder of `benches/`; `None` where none is meant to be.
fn program(tree: &Tree, name: &str, excluded: &[String]) -> Result<Option<Bench>> {
    let path = format!("{FOLDER}{name}/Cargo.toml");
    let Some(manifest) = tree.text(&path) else {
        // Of Python, say.
        return if excluded.iter().any(|folder| folder == name) {
            Ok(None)
        } else {
            Err(format!("found no {path}; write it, or `exclude` the folder in Cargo.toml"))
        };
    };
    let main = format!("{FOLDER}{name}/src/main.rs");
    if tree.text(&main).is_some() {
        let kind = if is_apart(manifest) { Kind::Peer } else { Kind::Program };
        return Ok(Some(bench(name, &path, kind)));
    }
    // What several of them share is no program.
    let used = format!("path = \"../{name}\"");
    if tree.matching(FOLDER, "/Cargo.toml").any(|(_, text)| text.contains(&used)) {
        return Ok(None);
    }
    Err(format!("found no {main}, which a bench runs; write it, or remove {FOLDER}{name}"))
}

fn bench(name: &str, path: &str, kind: Kind) -> Bench {
    Bench { name: name.to_owned(), path: path.to_owned(), kind }
}

/// Whether it is a workspace of its own.
fn is_apart(manifest: &str) -> bool {
    manifest.lines().any(|line| line == "[workspace]")
}

/// Folders there that are no members of the workspace.
fn excluded(tree: &Tree) -> Result<Vec<String>> {
    let manifest = table(tree, "Cargo.toml")?;
    let exclude = manifest.get("workspace").and_then(|workspace| workspace.get("exclude"));
    let paths = exclude.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    Ok(paths.filter_map(|path| path.strip_prefix(FOLDER)).map(str::to_owned).collect())
}

fn table(tree: &Tree, path: &str) -> Result<Table> {
    let text = tree.text(path).ok_or_else(|| format!("found no {path}"))?;
    text.parse().map_err(|error| format!("{path}: {error}"))
}

/// Packages in `benches/` that have tests, and in which targets, as cargo's flags choose them. Those of peers are no part of
/// this: see [`has_tests_in`].
pub(super) fn tested(tree: &Tree) -> Result<BTreeMap<String, BTreeSet<String>>> {
    let mut packages = BTreeMap::new();
    for (path, text) in tree.matching(FOLDER, "/Cargo.toml") {
        let package = table(tree, path)?;
        let name = package.get("package").and_then(|package| package.get("name"));
        if let Some(name) = name.and_then(Value::as_str) {
            let folder = path.trim_end_matches("Cargo.toml");
            packages.insert(folder, (name.to_owned(), is_apart(text)));
        }
    }
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, _) in tree.matching(FOLDER, ".rs").filter(|(_, text)| has_tests(text)) {
        // The deepest folder that holds it comes last.
        let owner = packages.iter().rfind(|(folder, _)| path.starts_with(**folder));
        let (folder, (name, apart)) =
            owner.ok_or_else(|| format!("{path}: it is in no package"))?;
        if *apart {
            continue;
        }
        let target = target(tree, folder, path, name);
        found.entry(name.clone()).or_default().insert(target);
    }
    if found.is_empty() { Err("found no tests in benches/".into()) } else { Ok(found) }
}

/// The flag that chooses the tests of this file, which lies in the folder of this package.
fn target(tree: &Tree, folder: &str, path: &str, name: &str) -> String {
    match path[folder.len()..].strip_prefix("tests/") {
        Some(file) => format!("--test {}", file.trim_end_matches(".rs")),
        None if tree.text(&format!("{folder}src/lib.rs")).is_some() => "--lib".to_owned(),
        None => format!("--bin {name}"),
    }
}

/// Whether the peer has tests.
pub(super) fn has_tests_in(tree: &Tree, peer: &Bench) -> bool {
    let folder = peer.path.trim_end_matches("Cargo.toml");
    tree.matching(folder, ".rs").any(|(_, text)| has_tests(text))
}

fn has_tests(text: &str) -> bool {
    text.lines().any(|line| line.trim() == "#[test]")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAIN: (&str, &str) = ("benches/a/src/main.rs", "");

    fn told(files: &[(&str, &str)]) -> Result<Vec<String>> {
        let all =
            [("scenarios/s.toml", ""), ("Cargo.toml", "[workspace]\nexclude = [\"benches/py\"]")];
        let tree = Tree::of(all.iter().chain(files));
        Ok(list(&tree)?.into_iter().map(|bench| bench.name).collect())
    }

    #[test]
    fn lists_that_are_empty_are_errors() {
        assert!(told(&[]).unwrap_err().contains("no program in benches/"));
        let tree = Tree::of([("Cargo.toml", ""), ("benches/a/Cargo.toml", ""), MAIN].iter());
        assert!(list(&tree).unwrap_err().contains("no scenario"));
        assert!(tested(&tree).unwrap_err().contains("no tests"));
    }

    #[test]
    fn a_folder_without_a_program_is_an_error_that_names_it() {
        let good = [("benches/a/Cargo.toml", ""), MAIN];
        assert_eq!(told(&good).unwrap(), ["s", "a"]);
        let bare = told(&[&good[..], &[("benches/bare/Cargo.toml", "")]].concat());
        assert!(bare.unwrap_err().contains("no benches/bare/src/main.rs"));
        let alone = told(&[&good[..], &[("benches/alone/src/main.rs", "")]].concat());
        assert!(alone.unwrap_err().contains("no benches/alone/Cargo.toml"));
        assert_eq!(told(&[&good[..], &[("benches/py/x.py", "")]].concat()).unwrap(), ["s", "a"]);
    }

    #[test]
    fn what_benches_share_is_no_program() {
        let uses = ("benches/a/Cargo.toml", "[dependencies]\nb = { path = \"../b\" }\n");
        let shared = [("benches/b/Cargo.toml", ""), ("benches/b/src/lib.rs", "")];
        assert_eq!(told(&[&[uses, MAIN][..], &shared].concat()).unwrap(), ["s", "a"]);
        let unused = [("benches/a/Cargo.toml", ""), MAIN];
        assert!(told(&[&unused[..], &shared].concat()).is_err());
    }

    #[test]
    fn tests_belong_to_the_deepest_package_and_those_of_peers_to_these() {
        let package = |name: &str, rest: &str| format!("[package]\nname = \"{name}\"\n{rest}");
        let [outer, inner, peer] =
            [package("outer", ""), package("inner", ""), package("peer", "[workspace]\n")];
        let files = [
            ("benches/o/Cargo.toml", outer.as_str()),
            ("benches/o/src/main.rs", ""),
            ("benches/o/in/Cargo.toml", inner.as_str()),
            ("benches/o/in/src/lib.rs", "    #[test]\n"),
            ("benches/p/Cargo.toml", peer.as_str()),
        ];
        let found = tested(&Tree::of(files.iter())).unwrap();
        assert_eq!(found, BTreeMap::from([("inner".into(), BTreeSet::from(["--lib".into()]))]));
        let peer = bench("p", "benches/p/Cargo.toml", Kind::Peer);
        assert!(!has_tests_in(&Tree::of(files.iter()), &peer));
        let more = [&files[..], &[("benches/p/src/main.rs", "#[test]\n")]].concat();
        let tree = Tree::of(more.iter());
        assert!(tested(&tree).unwrap() == found && has_tests_in(&tree, &peer));
    }

    #[test]
    fn those_of_this_repository_are_found() {
        let tree = Tree::read(&crate::root().unwrap()).unwrap();
        let peers: Vec<Bench> =
            list(&tree).unwrap().into_iter().filter(|it| it.kind == Kind::Peer).collect();
        let with_tests = peers.iter().filter(|peer| has_tests_in(&tree, peer));
        assert!(with_tests.map(|peer| &*peer.name).eq([
            "breakdown",
            "neighbours",
            "readers",
            "tantivy"
        ]));
        let targets = &tested(&tree).unwrap()["transport"];
        assert!(targets.iter().map(String::as_str).eq(["--bin transport", "--test short"]));
    }
}
