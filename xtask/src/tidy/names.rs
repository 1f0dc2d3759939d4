//! A controller is named in few places, so that one more of them is a folder and a line.

use super::Problem;
use super::shipped::shipped;
use crate::tree::Tree;

const CONTROL: &str = "crates/control/src/";
/// Quoted, it is an ordinary word too (`-x none`), and everywhere means that there is no controller.
const ORDINARY: &str = "none";
/// What speaks of given controllers: programs that compare them.
const SPEAKERS: &[&str] = &["tests/", "benches/", "fuzz/", "examples/"];

/// No code names a controller outside its folder and tests. Presets, scenarios and documents are no code.
pub(super) fn stay_in_their_folders(tree: &Tree) -> Vec<Problem> {
    let families = families(tree);
    tree.matching("", ".rs")
        .filter(|(path, _)| !speaks(path))
        .flat_map(|(path, text)| of_file(path, text, &families))
        .collect()
}

/// The name of a controller and the folder that it belongs to.
struct Family<'a> {
    name: &'a str,
    folder: String,
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
    let spoken = shipped(text).zip(1..).filter(|(line, _)| !line.trim_start().starts_with("//"));
    spoken
        .filter_map(|(line, number)| {
            let named = |family: &&Family<'_>| line.contains(&format!("\"{}\"", family.name));
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
}
