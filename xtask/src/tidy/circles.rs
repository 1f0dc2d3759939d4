//! Circles of modules: where two folders or files of one folder need each other, none can be read first.
//!
//! Read as text: paths that begin with `crate`, `super` or `self`, through `pub use`, without tests. A folder and
//! what lies in it may use each other, as `mod.rs` and its parts do.

use super::Problem;
use super::paths::{Paths, paths};
use super::shipped::shipped;
use crate::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};

/// Folders in which there are circles, and why they stay.
const KNOWN: &[(&str, &str)] = &[];

type Module = Vec<String>;

/// No folder of sources has parts that need each other, but for [`KNOWN`].
pub(super) fn there_are_none(tree: &Tree) -> Vec<Problem> {
    against(tree, KNOWN)
}

fn against(tree: &Tree, known: &[(&str, &str)]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for house in houses(tree) {
        let found = of_house(tree, &house);
        let is_known = |place: &str| known.iter().any(|(known, _)| *known == place);
        problems.extend(found.iter().filter(|(place, _)| !is_known(place)).map(circle));
        let own = known
            .iter()
            .filter(|(place, _)| *place == house || place.starts_with(&format!("{house}/")));
        let gone = own.filter(|(place, _)| !found.iter().any(|(found, _)| found == place));
        problems.extend(gone.map(|(place, _)| {
            let found =
                format!("found a reason for circles in {place}, where there are none any more");
            Problem::new("xtask/src/tidy/circles.rs", found, "take it out of KNOWN")
        }));
    }
    problems
}

/// The sources of each crate that others stand on.
fn houses(tree: &Tree) -> impl Iterator<Item = String> {
    let manifests =
        ["crates/", "suite/"].into_iter().flat_map(|folder| tree.matching(folder, "/Cargo.toml"));
    manifests.filter_map(|(path, _)| Some(format!("{}/src", path.strip_suffix("/Cargo.toml")?)))
}

/// A folder, and the names of its parts that need each other.
type Circle = (String, Vec<String>);

fn circle((place, parts): &Circle) -> Problem {
    let found = format!("found a circle of {}", parts.join(", "));
    let mend = "move what they share to a module of its own below both, or write into KNOWN of \
                xtask/src/tidy/circles.rs why they stay";
    Problem::new(place.clone(), found, mend)
}

fn of_house(tree: &Tree, house: &str) -> Vec<Circle> {
    let modules = modules(tree, house);
    let uses = uses(&modules);
    let folders: BTreeSet<&[String]> =
        modules.keys().flat_map(|module| (0..module.len()).map(|end| &module[..end])).collect();
    let of_folder = |folder: &[String]| {
        let place = std::iter::once(house).chain(folder.iter().map(String::as_str));
        let place = place.collect::<Vec<_>>().join("/");
        circles(&among(folder, &uses)).into_iter().map(move |parts| (place.clone(), parts))
    };
    folders.into_iter().flat_map(of_folder).collect()
}

/// The paths of every module that is built into the crate.
fn modules(tree: &Tree, house: &str) -> BTreeMap<Module, Paths> {
    let prefix = format!("{house}/");
    let mut for_tests: Vec<Module> = Vec::new();
    let mut found = BTreeMap::new();
    for (path, text) in tree.matching(&prefix, ".rs") {
        let module = module_of(&path[prefix.len()..]);
        for_tests.extend(tests_in(text).map(|name| [module.clone(), vec![name.into()]].concat()));
        let text = shipped(text).collect::<Vec<_>>().join("\n");
        found.insert(module, paths(&text));
    }
    found.retain(|module, _| !for_tests.iter().any(|test| module.starts_with(test)));
    found
}

/// `server/event_loop.rs` as its module's path.
fn module_of(file: &str) -> Module {
    let stem = file.trim_end_matches(".rs");
    let parts = stem.split('/').filter(|part| !["mod", "lib", "main"].contains(part));
    parts.map(str::to_owned).collect()
}

/// The modules that a file declares for tests and models alone.
fn tests_in(text: &str) -> impl Iterator<Item = &str> {
    let is_for_tests =
        |line: &str| line.starts_with("#[cfg(test)]") || line.starts_with("#[cfg(all(test");
    let pairs = text.lines().zip(text.lines().skip(1));
    pairs.filter(move |(line, _)| is_for_tests(line)).filter_map(|(_, next)| {
        let (_, name) = next.split_once("mod ")?;
        name.strip_suffix(';')
    })
}

/// Which module uses which.
fn uses(modules: &BTreeMap<Module, Paths>) -> BTreeSet<(Module, Module)> {
    let mut found = BTreeSet::new();
    for (module, paths) in modules {
        for path in &paths.used {
            if let Some(used) = resolved(modules, module, path, 0).filter(|used| used != module) {
                found.insert((module.clone(), used));
            }
        }
    }
    found
}

/// Names that are told on more often than this lead nowhere.
const EXPORTS_MAX: u32 = 5;

/// The module in which what the path names is declared.
fn resolved(
    modules: &BTreeMap<Module, Paths>,
    from: &[String],
    path: &[String],
    depth: u32,
) -> Option<Module> {
    let (first, mut rest) = path.split_first()?;
    let mut at = match first.as_str() {
        "crate" => Vec::new(),
        "self" => from.to_vec(),
        "super" => from.split_last()?.1.to_vec(),
        child => [from, &[child.to_owned()]].concat(),
    };
    if !modules.contains_key(&at) {
        return None;
    }
    while let Some((next, further)) = rest.split_first() {
        let below = if next == "super" {
            at.split_last()?.1.to_vec()
        } else {
            [&at[..], std::slice::from_ref(next)].concat()
        };
        if !modules.contains_key(&below) {
            break;
        }
        (at, rest) = (below, further);
    }
    let told_on = rest.first().and_then(|name| modules[&at].exported.get(name));
    match told_on.filter(|_| depth < EXPORTS_MAX) {
        Some(path) => resolved(modules, &at, path, depth + 1).or(Some(at)),
        None => Some(at),
    }
}

/// The same between the parts of a folder, each with all that lies in it.
fn among<'a>(
    folder: &[String],
    uses: &'a BTreeSet<(Module, Module)>,
) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let part = |module: &'a Module| {
        module.strip_prefix(folder).and_then(|rest| rest.first()).map(String::as_str)
    };
    let mut found: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (user, used) in uses {
        if let (Some(user), Some(used)) = (part(user), part(used))
            && user != used
        {
            found.entry(user).or_default().insert(used);
        }
    }
    found
}

/// Parts that reach each other, in groups.
fn circles(uses: &BTreeMap<&str, BTreeSet<&str>>) -> Vec<Vec<String>> {
    let reach: BTreeMap<&str, BTreeSet<&str>> =
        uses.keys().map(|part| (*part, reached(uses, part))).collect();
    let mut groups: BTreeSet<Vec<String>> = BTreeSet::new();
    for (part, all) in &reach {
        let back = |other: &&&str| reach.get(**other).is_some_and(|theirs| theirs.contains(part));
        let group: Vec<String> = all.iter().filter(back).map(|other| (*other).to_owned()).collect();
        if group.len() > 1 {
            groups.insert(group);
        }
    }
    groups.into_iter().collect()
}

fn reached<'a>(uses: &BTreeMap<&'a str, BTreeSet<&'a str>>, from: &str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&str> = uses.get(from).into_iter().flatten().copied().collect();
    while let Some(part) = open.pop() {
        if found.insert(part) {
            open.extend(uses.get(part).into_iter().flatten());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: (&str, &str) = ("crates/a/Cargo.toml", "");
    const LIB: (&str, &str) = ("crates/a/src/lib.rs", "mod one;\nmod two;\npub use two::Two;\n");

    fn found(files: [(&str, &str); 2], known: &[(&str, &str)]) -> Vec<String> {
        let [one, two] = files;
        let tree = Tree::from([MANIFEST, LIB, one, two]);
        against(&tree, known).into_iter().map(|problem| problem.found).collect()
    }

    #[test]
    fn two_that_need_each_other_are_a_circle_also_through_what_the_crate_tells_on() {
        let one = ("crates/a/src/one/mod.rs", "use crate::{Two, other};\nmod deep;\n");
        let two = ("crates/a/src/two.rs", "fn f() -> super::one::deep::Deep {\n");
        assert_eq!(found([one, two], &[]), ["found a circle of one, two"]);
        assert!(found([one, two], &[("crates/a/src", "why")]).is_empty());
        let apart = ("crates/a/src/two.rs", "pub struct Two;\n");
        assert!(found([one, apart], &[]).is_empty());
        let suite =
            [MANIFEST, LIB, one, two].map(|(path, text)| (path.replace("crates", "suite"), text));
        let suite = Tree::from(suite.each_ref().map(|(path, text)| (path.as_str(), *text)));
        assert_eq!(against(&suite, &[]).len(), 1, "the suite's are no exception");
        let gone = "found a reason for circles in crates/a/src, where there are none any more";
        assert_eq!(found([one, apart], &[("crates/a/src", "why")]), [gone]);
    }

    #[test]
    fn a_folder_and_its_parts_and_tests_may_use_each_other() {
        let folder = ("crates/a/src/one/mod.rs", "mod deep;\nuse deep::Deep;\npub struct One;\n");
        let deep = ("crates/a/src/one/deep.rs", "use super::One;\npub struct Deep(One);\n");
        assert!(found([folder, deep], &[]).is_empty());
        let one = ("crates/a/src/one.rs", "use crate::two::Two;\n// crate::two\n");
        let test = "pub struct Two;\n#[cfg(test)]\nmod tests {\n    use crate::one::One;\n}\n";
        assert!(found([one, ("crates/a/src/two.rs", test)], &[]).is_empty());
    }

    #[test]
    fn a_module_for_tests_is_none_of_the_crate() {
        let one =
            ("crates/a/src/one.rs", "#[cfg(all(test, loom))]\nmod models;\nuse crate::Two;\n");
        let models = ("crates/a/src/two.rs", "#[cfg(test)]\nmod tests;\npub struct Two;\n");
        let test = ("crates/a/src/two/tests.rs", "use crate::one::One;\n");
        let tree = Tree::from([MANIFEST, LIB, one, models, test]);
        assert!(against(&tree, &[]).is_empty());
    }
}
