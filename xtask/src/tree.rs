//! The repository as a map from path to text, so that checks are functions of values.

use crate::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Folders that are built, measured or fuzzed, not written.
const SKIPPED: &[&str] = &["target", ".git", "out", "corpus"];
/// Larger files are data: they are known by name and read as empty.
const TEXT_MAX: u64 = 1 << 20;

/// All files that people wrote, by path from the root with `/` between folders.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    files: BTreeMap<String, String>,
}

impl Tree {
    /// Reads the repository. Links are not followed; bytes that are no text become `�`.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let mut tree = Self::default();
        tree.read_folder(root, "")
            .map_err(|error| format!("could not read the repository: {error}"))?;
        Ok(tree)
    }

    /// The text of a file; `None` where there is none.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Every file whose path begins and ends so, in order.
    pub(crate) fn matching<'a>(
        &'a self,
        prefix: &'a str,
        suffix: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.files
            .iter()
            .filter(move |(path, _)| path.starts_with(prefix) && path.ends_with(suffix))
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The folders in `crates/`.
    pub(crate) fn crates(&self) -> BTreeSet<&str> {
        let manifests = self.matching("crates/", "/Cargo.toml");
        let names =
            manifests.filter_map(|(path, _)| path.strip_prefix("crates/")?.split('/').next());
        names.collect()
    }

    /// Whether a file or folder lies at `path`, counted from the root or from any folder: a map
    /// that has named the crate may go on with `breakwater/pool.rs`. `*` stands for any part of one
    /// name, `{a,b}` for each of its words, all of which must exist.
    pub(crate) fn has(&self, path: &str) -> bool {
        expand(path.trim_end_matches('/')).iter().all(|wanted| {
            let wanted: Vec<&str> = wanted.trim_start_matches("./").split('/').collect();
            self.files.keys().any(|file| {
                let parts: Vec<&str> = file.split('/').collect();
                parts.windows(wanted.len()).any(|window| {
                    window.iter().zip(&wanted).all(|(part, pattern)| matches(pattern, part))
                })
            })
        })
    }

    fn read_folder(&mut self, folder: &Path, prefix: &str) -> std::io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let (kind, path) = (entry.file_type()?, format!("{prefix}{name}"));
            if kind.is_dir() && !SKIPPED.contains(&name.as_str()) {
                self.read_folder(&entry.path(), &format!("{path}/"))?;
            } else if kind.is_file() {
                let text = if entry.metadata()?.len() > TEXT_MAX {
                    vec![]
                } else {
                    fs::read(entry.path())?
                };
                self.files.insert(path, String::from_utf8_lossy(&text).into_owned());
            }
        }
        Ok(())
    }
}

/// `a/{b,c}.rs` as `a/b.rs` and `a/c.rs`.
fn expand(path: &str) -> Vec<String> {
    let braces = path.split_once('{').and_then(|(before, rest)| {
        let (words, after) = rest.split_once('}')?;
        Some((before, words, after))
    });
    let Some((before, words, after)) = braces else {
        return vec![path.to_owned()];
    };
    words.split(',').flat_map(|word| expand(&format!("{before}{word}{after}"))).collect()
}

/// Whether `name` fits `pattern`, in which one `*` may stand for anything.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, tail)) => {
            name.len() >= head.len() + tail.len() && name.starts_with(head) && name.ends_with(tail)
        }
    }
}

#[cfg(test)]
impl Tree {
    pub(crate) fn of<'a>(files: impl Iterator<Item = &'a (&'a str, &'a str)>) -> Self {
        Self { files: files.map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect() }
    }
}

#[cfg(test)]
impl<const N: usize> From<[(&str, &str); N]> for Tree {
    fn from(files: [(&str, &str); N]) -> Self {
        Self::of(files.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_from_the_root_and_from_inside() {
        let tree = Tree::from([("crates/a/src/law/pool.rs", ""), ("crates/a/src/law/mod.rs", "")]);
        for path in ["crates/a/", "law/pool.rs", "crates/*/src", "law/{pool,mod}.rs", "./crates"] {
            assert!(tree.has(path), "{path}");
        }
        for path in ["crates/b", "law/po", "law/{pool,none}.rs", "crates/a/law"] {
            assert!(!tree.has(path), "{path}");
        }
    }

    #[test]
    fn reading_skips_what_was_built() {
        let root = std::env::temp_dir().join(format!("xtask-tree-{}", std::process::id()));
        for folder in ["crates/a/src", "target/debug"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::write(root.join("crates/a/Cargo.toml"), "[package]").unwrap();
        fs::write(root.join("crates/a/src/blob"), [0xff, 0xfe]).unwrap();
        fs::write(root.join("target/debug/x"), "built").unwrap();
        let tree = Tree::read(&root);
        fs::remove_dir_all(&root).unwrap();
        let tree = tree.unwrap();
        assert_eq!(tree.crates().into_iter().collect::<Vec<_>>(), ["a"]);
        assert_eq!(tree.text("crates/a/Cargo.toml"), Some("[package]"));
        assert_eq!(tree.text("target/debug/x"), None);
    }
}
