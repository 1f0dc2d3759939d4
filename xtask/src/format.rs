//! `fmt`: formats the code of every workspace: benches that take minutes to build have their own.

use crate::process::{self, cargo};
use crate::tally::Tally;
use crate::{Result, bench};
use std::path::Path;

/// `cargo xtask fmt`.
pub(crate) fn main(root: &Path, args: &[String]) -> Result {
    if !args.is_empty() {
        return Err(format!("found {args:?}; type `cargo xtask fmt` alone"));
    }
    all(root, &[])?.verdict("fmt")
}

/// Whether all of it is formatted.
pub(crate) fn check(root: &Path) -> Result<Tally> {
    all(root, &["--check"])
}

fn all(root: &Path, flags: &[&str]) -> Result<Tally> {
    let mut tally = Tally::default();
    for manifest in manifests(root)? {
        let words = [&["fmt", "--all", "--manifest-path", &manifest], flags].concat();
        tally.count(&manifest, process::run(&mut cargo(root, &words)));
    }
    Ok(tally)
}

fn manifests(root: &Path) -> Result<Vec<String>> {
    let peers = bench::peer_manifests(root)?;
    Ok(std::iter::once("Cargo.toml".to_owned()).chain(peers).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `make fmt` left out what CI looks at.
    #[test]
    fn workspaces_of_their_own_are_formatted_too() {
        let found = manifests(&crate::root().unwrap()).unwrap();
        let wanted = ["Cargo.toml", "benches/breakdown/Cargo.toml", "benches/tantivy/Cargo.toml"];
        assert!(wanted.iter().all(|wanted| found.iter().any(|it| it == wanted)), "{found:?}");
        let makefile = std::fs::read_to_string(crate::root().unwrap().join("Makefile")).unwrap();
        assert!(makefile.contains("@$(CARGO) xtask fmt\n"), "`make fmt` is another list");
    }
}
