//! Which models of loom there are, read from the sources.

use crate::tree::Tree;

/// What stands above a module of models.
const ONLY_LOOM: &str = "#[cfg(all(test, loom))]\nmod models {\n";

/// One test that loom plays.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Model {
    /// As cargo is told its program: package and target.
    pub(super) which: String,
    /// Its path in that program.
    pub(super) name: String,
}

/// Every model of every crate, by path of its file.
pub(super) fn all(tree: &Tree) -> Vec<Model> {
    tree.matching("crates/", ".rs").flat_map(|(path, text)| of_file(path, text)).collect()
}

fn of_file(path: &str, text: &str) -> Vec<Model> {
    let inner = path.strip_prefix("crates/").and_then(|path| path.split_once('/'));
    let Some((package, inner)) = inner else { return Vec::new() };
    let (target, modules, body) = if let Some(file) = inner.strip_prefix("tests/loom") {
        ("--test loom", file.trim_start_matches('/').to_owned(), text)
    } else if let Some(file) = inner.strip_prefix("src/") {
        match text.split_once(ONLY_LOOM) {
            Some((_, body)) => {
                ("--lib", format!("{}/models", file.trim_end_matches(".rs")), until_end(body))
            }
            None if file.ends_with("/models.rs") && text.contains("use loom::") => {
                ("--lib", file.to_owned(), text)
            }
            None => return Vec::new(),
        }
    } else {
        return Vec::new();
    };
    let modules = modules.trim_end_matches(".rs").replace('/', "::");
    let name = |test: &str| {
        if modules.is_empty() { test.to_owned() } else { format!("{modules}::{test}") }
    };
    let which = format!("-p tailwater-{package} {target}");
    tests(body).map(|test| Model { which: which.clone(), name: name(test) }).collect()
}

/// A module's text up to the brace that ends it.
fn until_end(body: &str) -> &str {
    body.split_once("\n}\n").map_or(body, |(body, _)| body)
}

/// The names of its tests.
fn tests(text: &str) -> impl Iterator<Item = &str> {
    text.split("#[test]\n").skip(1).filter_map(|test| {
        let (_, behind) = test.split_once("fn ")?;
        behind.split_once('(').map(|(name, _)| name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_lie_in_tests_in_files_and_in_modules() {
        let inside = "#[test]\nfn plain() {}\n#[cfg(all(test, loom))]\nmod models {\n    use loom::thread;\n    \
                      #[test]\n    fn a() {}\n}\n#[test]\nfn other() {}\n";
        let tree = Tree::from([
            ("crates/sync/tests/loom.rs", "#[test]\nfn b() {}\n"),
            (
                "crates/sync/tests/loom/ready.rs",
                "#[test]\nfn c() {}\nfn no() {}\n#[test]\nfn d() {}",
            ),
            ("crates/rt/src/x/models.rs", "use loom::thread;\n#[test]\nfn e() {}\n"),
            ("crates/rt/src/x/y.rs", inside),
            ("crates/rt/src/y/models.rs", "//! Threading models.\n#[test]\nfn f() {}\n"),
            ("crates/rt/tests/models.rs", "#[test]\nfn g() {}\n"),
        ]);
        let found: Vec<String> =
            all(&tree).into_iter().map(|model| format!("{} {}", model.which, model.name)).collect();
        let expected = [
            "-p tailwater-rt --lib x::models::e",
            "-p tailwater-rt --lib x::y::models::a",
            "-p tailwater-sync --test loom b",
            "-p tailwater-sync --test loom ready::c",
            "-p tailwater-sync --test loom ready::d",
        ];
        assert_eq!(found, expected);
    }
}
