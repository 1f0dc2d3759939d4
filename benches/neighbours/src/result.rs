//! The file with all lines, and what they were taken on. `faiss_peer.py` adds its lines to it.

use crate::{Known, NEIGHBOURS, Row, SEED};
use machine::Machine;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use tailwater_kernels::Kernels;

#[derive(Serialize)]
struct Found<'a> {
    machine: Machine,
    /// The widest instructions that our kernels used.
    kernels: String,
    started_unix: u64,
    set: &'a str,
    points: usize,
    dimensions: usize,
    seed: u64,
    queries: usize,
    neighbours: usize,
    commands: Vec<String>,
    /// Of the others, by name.
    versions: BTreeMap<&'static str, &'static str>,
    rows: &'a [Row],
}

/// Better said before minutes of work than after.
pub(crate) fn refuse_unwritable(path: &Path) -> Result<(), String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match folder.filter(|folder| !folder.is_dir()) {
        Some(folder) => {
            Err(format!("{}: found no such folder; type: mkdir -p {0}", folder.display()))
        }
        None => Ok(()),
    }
}

/// What was there before is replaced, FAISS's lines included: they may be of other vectors.
pub(crate) fn write(
    path: &Path,
    known: &Known,
    typed: &[String],
    rows: &[Row],
) -> Result<(), String> {
    let points = known.set.points.rows();
    let found = Found {
        machine: Machine::here(),
        kernels: Kernels::best().level().to_string(),
        started_unix: machine::result::now_unix(),
        set: &known.about,
        points: points.count(),
        dimensions: points.dimensions(),
        seed: SEED,
        queries: known.truth.len(),
        neighbours: NEIGHBOURS,
        commands: vec![command(typed)],
        versions: peers_version().map(|version| ("hnsw_rs", version)).into_iter().collect(),
        rows,
    };
    machine::result::write(path, &found)
}

fn command(typed: &[String]) -> String {
    let program = "cargo run --release --manifest-path benches/neighbours/Cargo.toml --";
    typed.iter().fold(program.to_owned(), |command, it| format!("{command} {}", told(it)))
}

/// Of an absolute path the last part alone: the others name a machine's owner.
fn told(argument: &str) -> String {
    let path = Path::new(argument);
    let last = path.file_name().filter(|_| path.is_absolute());
    last.map_or_else(|| argument.to_owned(), |name| name.to_string_lossy().into_owned())
}

/// As it was built.
fn peers_version() -> Option<&'static str> {
    let (_, rest) = include_str!("../Cargo.lock").split_once("name = \"hnsw_rs\"\nversion = \"")?;
    rest.split_once('"').map(|(version, _)| version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_names_no_owner() {
        let typed = ["--write", "out/n", "--out", "/a/b.json"].map(String::from);
        assert!(command(&typed).ends_with(" -- --write out/n --out b.json"), "{}", command(&typed));
    }

    #[test]
    fn the_version_is_that_of_the_lock() {
        let version = peers_version().expect("hnsw_rs is locked");
        assert!(include_str!("../Cargo.toml").contains(&format!("\"={version}\"")), "{version}");
    }
}
