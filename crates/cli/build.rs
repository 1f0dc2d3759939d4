//! Names the commit of which this program is built, for the manifests of results.
//!
//! Programs for tests name none: each commit would build them again.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What of the checkout is built, or lies in the program, from its root.
const BUILT: [&str; 9] = [
    ".cargo",
    "Cargo.lock",
    "Cargo.toml",
    "crates",
    "examples",
    "presets",
    "rust-toolchain.toml",
    "scenarios",
    "suite",
];

/// Characters of a line of `git status --porcelain` before its path.
const STATUS: usize = 3;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is_for_tests = std::env::var("PROFILE").is_ok_and(|profile| profile == "debug");
    let found = if is_for_tests { None } else { checkout() };
    let (commit, dirty) = found.unwrap_or(("unknown".into(), false));
    println!("cargo::rustc-env=TAILWATER_COMMIT={commit}");
    println!("cargo::rustc-env=TAILWATER_DIRTY={dirty}");
}

/// The commit, and whether what is built differs from it; `None` outside of a checkout.
fn checkout() -> Option<(String, bool)> {
    // An archive may lie in another checkout, whose commits say nothing of it.
    let root = Path::new("../..").canonicalize().ok()?;
    let top = git(&root, &["rev-parse", "--show-toplevel"])?;
    if Path::new(&top).canonicalize().ok()? != root {
        return None;
    }
    let commit = git(&root, &["rev-parse", "HEAD"])?;
    // Of what is renamed, both names. Tests are not in the program.
    let status = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--"];
    let tests = [":(exclude,glob)**/tests/**"];
    let changed = git(&root, &[&status[..], &BUILT, &tests].concat())?;
    // The second has a line for each commit that the first named; it may be switched off.
    for name in ["HEAD", "logs/HEAD"] {
        let path = root.join(git(&root, &["rev-parse", "--git-path", name])?);
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    // By file: folders also change by what examples leave there. In place of one that is not there its folder, or this would run each
    // time; that is dirty until it is back.
    let files = git(&root, &[&["ls-files", "-z", "--"], &BUILT[..], &tests].concat())?;
    let watched = files.split('\0').filter(|file| !file.is_empty());
    let changes = changed.split('\0').filter_map(|line| line.get(STATUS..));
    let there = |path: PathBuf| path.ancestors().find(|path| path.exists()).map(Path::to_owned);
    for path in watched.chain(changes).filter_map(|file| there(root.join(file))) {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    Some((commit, !changed.is_empty()))
}

fn git(root: &Path, words: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .arg("--no-optional-locks")
        .arg("-C")
        .arg(root)
        .args(words)
        .output()
        .ok()?;
    // Names of files may be of any bytes.
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then(|| said.trim_end().to_owned())
}
