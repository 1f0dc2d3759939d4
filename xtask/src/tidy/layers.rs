//! Which crate may depend on which: a crate is cut where something must be absent below it.

use super::Problem;
use crate::tree::Tree;
use toml::{Table, Value};

const CORE: &[&str] = &["core"];
const BUDGETS: &[&str] = &["core", "control"];
const DRIVER: &[&str] = &["core", "control", "wire", "stats", "workload", "tune", "sync", "marks"];
const SIMULATOR: &[&str] = &["core", "control", "stats", "workload", "experiment"];
const FIGURES: &[&str] = &["core", "stats", "workload", "experiment", "report", "sim"];
const SERVICE: &[&str] =
    &["core", "control", "wire", "stats", "workload", "tune", "sync", "rt", "load"];

/// What each crate may use of the others. `cli` and `tests` stand above all and are not listed:
/// there alone the runtime meets the simulator.
const LAYERS: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("control", CORE),
    ("wire", CORE),
    ("stats", CORE),
    ("workload", CORE),
    ("tune", &["core", "stats"]),
    ("sync", BUDGETS),
    ("sync-c", &["sync"]),
    ("report", &["core", "stats"]),
    ("profile", &["core", "stats"]),
    ("kernel", &[]),
    ("marks", &[]),
    ("profile-rt", &["core", "stats", "profile"]),
    ("rt", DRIVER),
    ("experiment", &["core", "control", "stats", "workload"]),
    ("sim", SIMULATOR),
    ("figures", FIGURES),
    ("load", SERVICE),
    ("suite", SERVICE),
    ("tailwater", SERVICE),
];
const TOP: &str = "cli";
/// Never in one crate, not even for its tests, except above.
const APART: [&str; 2] = ["rt", "sim"];

/// Every crate in `crates/` uses only what [`LAYERS`] allows it.
pub(super) fn depend_downwards(tree: &Tree) -> Vec<Problem> {
    tree.crates()
        .into_iter()
        .filter(|name| *name != TOP)
        .flat_map(|name| of_crate(tree, name))
        .collect()
}

fn of_crate(tree: &Tree, name: &str) -> Vec<Problem> {
    let place = format!("crates/{name}/Cargo.toml");
    let manifest = match tree.text(&place).unwrap_or_default().parse::<Table>() {
        Ok(manifest) => manifest,
        Err(error) => {
            return vec![Problem::new(place, format!("found no TOML: {error}"), "correct it")];
        }
    };
    let Some((_, allowed)) = LAYERS.iter().find(|(layer, _)| *layer == name) else {
        let mend =
            "add it to LAYERS in xtask/src/tidy/layers.rs and to ARCHITECTURE.md's invariants";
        return vec![Problem::new(place, "found a crate that belongs to no layer", mend)];
    };
    let shipped = internal(&manifest, &["dependencies", "build-dependencies"]);
    let mut problems: Vec<Problem> = shipped
        .iter()
        .filter(|used| !allowed.contains(&used.as_str()))
        .map(|used| upward(&place, name, used, allowed))
        .collect();
    let mut all = internal(&manifest, &["dev-dependencies"]);
    all.extend(shipped);
    if APART.iter().all(|one| *one == name || all.iter().any(|used| used == one)) {
        let mend = "compare the two in tests/ or wire them together in crates/cli";
        problems.push(Problem::new(place, "found rt and sim in one crate", mend));
    }
    problems
}

fn upward(place: &str, name: &str, used: &str, allowed: &[&str]) -> Problem {
    let may = if allowed.is_empty() { "nothing".to_owned() } else { allowed.join(", ") };
    let found = format!("found that {name} uses {used}; of our crates it may use {may}");
    Problem::new(place, found, format!("move the code that needs {used} up, or pass in a value"))
}

/// Our crates among the dependencies of these kinds, those of single targets included.
pub(super) fn internal(manifest: &Table, kinds: &[&str]) -> Vec<String> {
    let targets =
        manifest.get("target").and_then(Value::as_table).into_iter().flat_map(Table::values);
    let tables = std::iter::once(manifest).chain(targets.filter_map(Value::as_table));
    let entries = tables.flat_map(|table| {
        kinds.iter().filter_map(|kind| table.get(*kind)?.as_table()).flat_map(Table::iter)
    });
    entries
        .filter_map(|(key, value)| {
            let package = value.get("package").and_then(Value::as_str).unwrap_or(key);
            if package == "tailwater" { Some(package) } else { package.strip_prefix("tailwater-") }
        })
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, manifest: &str) -> Vec<String> {
        let path = format!("crates/{name}/Cargo.toml");
        let tree = Tree::from([(path.as_str(), manifest)]);
        depend_downwards(&tree).into_iter().map(|problem| problem.found).collect()
    }

    #[test]
    fn pure_crates_use_core_alone() {
        let core = "[dependencies]\ntailwater-core.workspace = true\nserde.workspace = true\n";
        assert!(check("wire", core).is_empty());
        let control = "[dependencies]\ntailwater-control.workspace = true\n";
        assert_eq!(
            check("wire", control),
            ["found that wire uses control; of our crates it may use core"]
        );
        assert!(check("sync", control).is_empty());
        assert_eq!(check("core", core).len(), 1);
    }

    #[test]
    fn renames_and_targets_hide_nothing() {
        let renamed = "[dependencies]\ndriver = { package = \"tailwater-rt\", path = \"../rt\" }\n";
        assert_eq!(check("stats", renamed).len(), 1);
        let target = "[target.'cfg(unix)'.dependencies]\ntailwater-rt.workspace = true\n";
        assert_eq!(check("stats", target).len(), 1);
    }

    #[test]
    fn runtime_and_simulator_meet_on_top_only() {
        let both =
            "[dependencies]\ntailwater-rt.workspace = true\ntailwater-sim.workspace = true\n";
        assert!(check("cli", both).is_empty());
        let for_tests = "[dev-dependencies]\ntailwater-sim.workspace = true\n";
        assert_eq!(check("rt", for_tests), ["found rt and sim in one crate"]);
        let load = "[dependencies]\ntailwater-rt.workspace = true\n[dev-dependencies]\ntailwater-sim.workspace = true\n";
        assert_eq!(check("load", load), ["found rt and sim in one crate"]);
        assert!(
            check("control", "[dev-dependencies]\ntailwater-stats.workspace = true\n").is_empty()
        );
    }

    #[test]
    fn an_unknown_crate_must_be_placed() {
        assert_eq!(check("novel", ""), ["found a crate that belongs to no layer"]);
        assert!(check("core", "[dependencies")[0].contains("no TOML"));
    }
}
