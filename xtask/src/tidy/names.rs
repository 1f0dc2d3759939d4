//! A controller is named in few places, so that one more of them is a folder and a line.

use super::Problem;
use super::shipped::shipped;
use crate::tree::Tree;

const CONTROL: &str = "crates/control/src/";
/// The crate that has the controllers' folders.
const CRATE: &str = "tailwater_control";
/// Quoted, it is an ordinary word too (`-x none`), and everywhere means that there is no controller.
const ORDINARY: &str = "none";
/// What speaks of given controllers: programs that compare them.
const SPEAKERS: &[&str] = &["tests/", "benches/", "fuzz/", "examples/"];

/// What scenario files may say. Its examples are drawn into `docs/scenarios.md`, and documents may name controllers.
const REFERENCE: &str = "crates/workload/src/scenario/keys/";

/// A file that names a controller's folder by a path, that folder, and why.
type Exception = (&'static str, &'static str, &'static str);

const BREAKWATER: &str = "crates/control/src/breakwater/";
const PLANTED: &str = "it wraps the gate of credits in a fault, for tests alone";

/// All that there are.
const EXCEPTIONS: &[Exception] = &[
    ("crates/sim/src/simulate/heedless.rs", BREAKWATER, PLANTED),
    ("crates/sim/src/simulate/sabotage/gates.rs", BREAKWATER, PLANTED),
    ("crates/tailwater/src/lib.rs", BREAKWATER, "its short form promises users this controller"),
];

/// No code names a controller outside its folder and tests, neither by its name nor by the path of its folder, but for
/// [`EXCEPTIONS`]. Presets, scenarios and documents are no code.
pub(super) fn stay_in_their_folders(tree: &Tree) -> Vec<Problem> {
    against(tree, EXCEPTIONS)
}

fn against(tree: &Tree, exceptions: &[Exception]) -> Vec<Problem> {
    let families = families(tree);
    let mut problems = Vec::new();
    for (path, text) in tree.matching("", ".rs").filter(|(path, _)| !speaks(path)) {
        problems.extend(of_file(path, text, &families));
        let excepted = exceptions.iter().filter(|exception| exception.0 == path);
        let excepted: Vec<&str> = excepted.map(|exception| exception.1).collect();
        let (expected, others): (Vec<_>, Vec<_>) = folders_in_paths(text, &families)
            .into_iter()
            .partition(|(folder, _)| excepted.contains(folder));
        problems.extend(others.into_iter().map(|found| named_by_path(path, found)));
        let is_gone = |folder: &&&str| expected.iter().all(|(found, _)| found != *folder);
        problems.extend(excepted.iter().filter(is_gone).map(|folder| gone(path, folder)));
    }
    problems
}

/// README.md has a row for each controller, so that it can be chosen before anything is built.
pub(super) fn are_listed_for_users(tree: &Tree) -> Vec<Problem> {
    let read = tree.text("README.md").unwrap_or_default();
    let is_unlisted = |family: &Family<'_>| !read.contains(&format!("| `{}` |", family.name));
    let unlisted = families(tree).into_iter().filter(is_unlisted);
    let problem = |family: Family<'_>| {
        let found = format!("found no row of the controller `{}`", family.name);
        Problem::new("README.md", found, "add a row to its table of controllers")
    };
    unlisted.map(problem).collect()
}

/// The name of a controller and the folder that it belongs to.
struct Family<'a> {
    name: &'a str,
    folder: String,
}

impl Family<'_> {
    /// The folder's own name, as paths in code have it.
    fn module(&self) -> &str {
        self.folder[CONTROL.len()..].trim_end_matches('/')
    }
}

/// Of every file of the controllers that has one.
fn families(tree: &Tree) -> Vec<Family<'_>> {
    let found = tree.matching(CONTROL, ".rs").filter_map(|(path, text)| family_in(path, text));
    found.filter(|family| family.name != ORDINARY).collect()
}

/// What follows `const FAMILY: Family<…> = Family {`: the name.
fn family_in<'a>(path: &str, text: &'a str) -> Option<Family<'a>> {
    let folder = path.strip_prefix(CONTROL)?.split('/').next()?;
    let (_, rest) = text.split_once("const FAMILY: Family<")?;
    let (_, rest) = rest.split_once("name: \"")?;
    let (name, _) = rest.split_once('"')?;
    Some(Family { name, folder: format!("{CONTROL}{folder}/") })
}

fn of_file(path: &str, text: &str, families: &[Family<'_>]) -> Vec<Problem> {
    let spoken = shipped(text).zip(1..).filter(|(line, _)| !is_comment(line));
    spoken
        .filter_map(|(line, number)| {
            let named = |family: &&Family<'_>| names(path, line, family.name);
            let family = families.iter().find(named)?;
            (!path.starts_with(&family.folder)).then(|| {
                let mend = format!(
                    "take the name from the catalogue or from {}, or move what is special there",
                    family.folder
                );
                let found = format!("found the controller `{}` by name", family.name);
                Problem::new(format!("{path}:{number}"), found, mend)
            })
        })
        .collect()
}

/// In quotes, also in those of a text within a text.
fn names(path: &str, line: &str, controller: &str) -> bool {
    let within = || line.contains(&format!("\\\"{controller}\\\""));
    line.contains(&format!("\"{controller}\"")) || (!path.starts_with(REFERENCE) && within())
}

/// The controllers' folders that paths into their crate begin with, each with its line.
fn folders_in_paths<'a>(text: &str, families: &'a [Family<'_>]) -> Vec<(&'a str, usize)> {
    let lines: Vec<&str> =
        shipped(text).map(|line| if is_comment(line) { "" } else { line }).collect();
    let code = lines.join("\n");
    let mut found = Vec::new();
    for (at, root) in code.match_indices(CRATE) {
        let line = 1 + code[..at].matches('\n').count();
        let path = code[at + root.len()..].strip_prefix("::").unwrap_or_default();
        for name in first_names(path) {
            let family = families.iter().find(|family| family.module() == name);
            found.extend(family.map(|family| (family.folder.as_str(), line)));
        }
    }
    found
}

/// The first name of a path, or of each path of a group in braces.
fn first_names(path: &str) -> Vec<&str> {
    let Some(group) = path.strip_prefix('{') else {
        return vec![word(path)];
    };
    let (mut depth, mut start, mut names) = (0_usize, 0, Vec::new());
    for (at, mark) in group.char_indices() {
        match mark {
            '{' => depth += 1,
            '}' | ',' if depth == 0 => {
                names.push(word(group[start..at].trim_start()));
                start = at + 1;
                if mark == '}' {
                    break;
                }
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
    names
}

/// What a text begins with, as far as it is a name.
fn word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

fn named_by_path(path: &str, (folder, line): (&str, usize)) -> Problem {
    let found = format!("found a path into {folder}");
    let mend = "take the controller from the catalogue, or give a reason in EXCEPTIONS of names.rs";
    Problem::new(format!("{path}:{line}"), found, mend)
}

fn gone(path: &str, folder: &str) -> Problem {
    let found = format!("found no path into {folder} any more");
    Problem::new(path, found, "take it out of EXCEPTIONS of names.rs")
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

fn speaks(path: &str) -> bool {
    SPEAKERS.iter().any(|folder| path.starts_with(folder))
        || path.contains("/tests/")
        || path.ends_with("/tests.rs")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAMILY: &str =
        "pub(crate) const FAMILY: Family<Config> = Family {\n    name: \"fair\",\n";

    fn places(path: &str, text: &str) -> Vec<String> {
        let tree = Tree::from([("crates/control/src/fair/family.rs", FAMILY), (path, text)]);
        stay_in_their_folders(&tree).into_iter().map(|problem| problem.place).collect()
    }

    #[test]
    fn a_controllers_name_elsewhere_is_found() {
        let special = "// One controller is special.\nif name == \"fair\" {\n";
        assert_eq!(places("crates/sim/src/swarm.rs", special), ["crates/sim/src/swarm.rs:2"]);
        assert_eq!(places("crates/control/src/other/mod.rs", special).len(), 1);
    }

    #[test]
    fn so_is_one_in_a_text_within_a_text_but_for_the_examples_of_the_reference() {
        let example = "key(\"{ name = \\\"fair\\\" }\");\n";
        assert_eq!(places("crates/sim/src/a.rs", example), ["crates/sim/src/a.rs:1"]);
        assert!(places("crates/workload/src/scenario/keys/top.rs", example).is_empty());
    }

    /// README.md spoke of eight controllers, and named three.
    #[test]
    fn a_controller_without_a_row_in_the_readme_is_found() {
        let found = |read: &str| {
            let family = ("crates/control/src/fair/family.rs", FAMILY);
            are_listed_for_users(&Tree::from([family, ("README.md", read)])).len()
        };
        assert_eq!(found("| `fair` | to all alike |\n"), 0);
        assert_eq!(found("One is `fair`.\n"), 1);
    }

    #[test]
    fn its_own_folder_and_tests_may_name_it() {
        let named = "let spec = Spec::named(\"fair\");\n";
        for path in
            ["crates/control/src/fair/mod.rs", "crates/sim/tests/fair.rs", "tests/src/lib.rs"]
        {
            assert!(places(path, named).is_empty(), "{path}");
        }
        assert!(
            places("crates/sim/src/a.rs", &format!("#[cfg(test)]\nmod tests {{\n{named}"))
                .is_empty()
        );
        let below = format!("#[cfg(test)]\nmod tests;\n{named}");
        assert_eq!(places("crates/sim/src/a.rs", &below), ["crates/sim/src/a.rs:3"]);
        assert!(places("crates/sim/src/a.rs", "/// A \"fair\" one.\nfn fair() {}\n").is_empty());
    }

    #[test]
    fn a_path_into_its_folder_is_found_alone_and_in_a_group() {
        let alone = "use tailwater_control::fair::Gate;\n";
        assert_eq!(places("crates/sim/src/a.rs", alone), ["crates/sim/src/a.rs:1"]);
        let called = "fn f() {\n    g(tailwater_control::fair::NAME);\n";
        assert_eq!(places("suite/s/src/a.rs", called), ["suite/s/src/a.rs:2"]);
        for group in ["{Spec, fair::Gate}", "{\n    client::{A, B},\n    fair,\n}", "{fair}"] {
            let text = format!("\nuse tailwater_control::{group};\n");
            assert_eq!(places("crates/sim/src/a.rs", &text), ["crates/sim/src/a.rs:2"], "{group}");
        }
        for other in
            ["fairly::Gate", "client::fair", "{client::{fair, A}, B}", "{A}; use x::{fair}"]
        {
            let text = format!("use tailwater_control::{other};\n");
            assert!(places("crates/sim/src/a.rs", &text).is_empty(), "{other}");
        }
        assert!(places("crates/sim/tests/a.rs", alone).is_empty());
        assert!(places("crates/sim/src/a.rs", &format!("// {alone}")).is_empty());
    }

    #[test]
    fn a_path_with_a_reason_is_no_problem_until_it_is_gone() {
        let places = |text: &str| -> Vec<String> {
            let path = "crates/sim/src/a.rs";
            let tree = Tree::from([("crates/control/src/fair/family.rs", FAMILY), (path, text)]);
            let problems = against(&tree, &[(path, "crates/control/src/fair/", "as a test")]);
            problems.into_iter().map(|problem| problem.place).collect()
        };
        assert!(places("use tailwater_control::fair::Gate;\n").is_empty());
        assert_eq!(places("use tailwater_control::Spec;\n"), ["crates/sim/src/a.rs"]);
    }
}
