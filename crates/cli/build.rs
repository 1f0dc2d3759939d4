//! Names the commit of which this program is built, for the manifests of results.
//!
//! Programs for tests name none: each commit would build them again.

use std::path::Path;
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
    let changed = git(&root, &[&["status", "--porcelain", "-z", "--"], &BUILT[..]].concat())?;
    // The second has a line for each commit that the first named; it may be switched off.
    for name in ["HEAD", "logs/HEAD"] {
        let path = root.join(git(&root, &["rev-parse", "--git-path", name])?);
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    // By file: folders also change by what examples and tests leave there, and tests are not in the program. One that is not there
    // would have this run each time.
    let files = git(&root, &[&["ls-files", "-z", "--"], &BUILT[..]].concat())?;
    let watched = files.split('\0').filter(|file| !file.is_empty() && !file.contains("/tests/"));
    let changes = changed.split('\0').filter_map(|line| line.get(STATUS..));
    for file in watched.chain(changes).map(|file| root.join(file)).filter(|file| file.exists()) {
        println!("cargo::rerun-if-changed={}", file.display());
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
    let said = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| said.trim_end().to_owned())
}
