//! A copy of the working tree, for a program that changes sources: a run that is ended leaves ours as it was.

use crate::Result;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Makes `to` what the working tree at `root` is, apart from what git ignores. A file that is the same stays untouched,
/// so that nothing is built anew for it; what has been built in `to` stays.
pub(crate) fn copy(root: &Path, to: &Path) -> Result {
    let files = listed(root)?;
    for file in &files {
        // What is deleted and not yet so in git cannot be read.
        let Ok(bytes) = fs::read(root.join(file)) else { continue };
        let target = to.join(file);
        if fs::read(&target).is_ok_and(|there| there == bytes) {
            continue;
        }
        let folder = target.parent().unwrap_or(to);
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&target, bytes));
        written.map_err(|error| format!("could not write {}: {error}", target.display()))?;
    }
    remove_others(root, to, &files)
}

/// What git knows of, and what is new and not ignored.
fn listed(root: &Path) -> Result<BTreeSet<PathBuf>> {
    let mut command = Command::new("git");
    command.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let output = command.current_dir(root).output();
    let output = output.map_err(|error| format!("could not ask git for the files: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let files: BTreeSet<PathBuf> =
        text.split('\0').filter(|path| !path.is_empty()).map(PathBuf::from).collect();
    if files.is_empty() { Err("git listed no file".into()) } else { Ok(files) }
}

/// Sources that are gone are gone from the copy.
fn remove_others(root: &Path, to: &Path, files: &BTreeSet<PathBuf>) -> Result {
    let crates = to.join("crates");
    let mut folders = vec![crates];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder);
        let entries = entries.map_err(|error| format!("{}: {error}", folder.display()))?;
        for path in entries.flatten().map(|entry| entry.path()) {
            let inner = path.strip_prefix(to).unwrap_or(&path);
            if path.is_dir() {
                folders.push(path);
            } else if !files.contains(inner) || !root.join(inner).exists() {
                fs::remove_file(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git(folder: &Path, args: &[&str]) {
        let status = Command::new("git").args(args).current_dir(folder).status().unwrap();
        assert!(status.success(), "{args:?}");
    }

    #[test]
    fn a_copy_follows_the_tree_and_leaves_what_is_the_same() {
        let base = std::env::temp_dir().join(format!("xtask-copy-{}", std::process::id()));
        let (root, to) = (base.join("root"), base.join("to"));
        fs::create_dir_all(root.join("crates/a")).unwrap();
        git(&root, &["init", "-q"]);
        let put = |path: &str, text: &str| fs::write(root.join(path), text).unwrap();
        put("crates/a/kept.rs", "same");
        put("crates/a/gone.rs", "old");
        put(".gitignore", "ignored\n");
        put("ignored", "no");
        copy(&root, &to).unwrap();
        let changed = fs::metadata(to.join("crates/a/kept.rs")).unwrap().modified().unwrap();
        fs::remove_file(root.join("crates/a/gone.rs")).unwrap();
        put("crates/a/new.rs", "new");
        copy(&root, &to).unwrap();
        let read = |path: &str| fs::read_to_string(to.join(path)).ok();
        let found = ["crates/a/new.rs", "crates/a/gone.rs", "ignored"].map(read);
        assert_eq!(found, [Some("new".to_owned()), None, None]);
        let after = fs::metadata(to.join("crates/a/kept.rs")).unwrap().modified().unwrap();
        fs::remove_dir_all(&base).unwrap();
        assert_eq!(after, changed, "cargo would build it anew");
    }
}
