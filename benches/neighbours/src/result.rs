//! The file with all lines, and what they were taken on. `faiss_peer.py` adds its lines to it.

use crate::{Known, NEIGHBOURS, Row, SEED};
use machine::Origin;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use tailwater_kernels::Kernels;

/// Before what is typed.
const PROGRAM: &str = "cargo run --release --manifest-path benches/neighbours/Cargo.toml --";

#[derive(Serialize)]
struct Found<'a> {
    #[serde(flatten)]
    origin: Origin,
    /// The widest instructions that our kernels used.
    kernels: String,
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

/// What was there before is replaced, FAISS's lines included: they may be of other vectors.
pub(crate) fn write(
    path: &Path,
    (origin, typed): (Origin, &[String]),
    known: &Known,
    rows: &[Row],
) -> Result<(), String> {
    let points = known.set.points.rows();
    let found = Found {
        origin,
        kernels: Kernels::best().level().to_string(),
        set: &known.about,
        points: points.count(),
        dimensions: points.dimensions(),
        seed: SEED,
        queries: known.truth.len(),
        neighbours: NEIGHBOURS,
        commands: vec![machine::result::command(PROGRAM, typed)],
        versions: peers_version().map(|version| ("hnsw_rs", version)).into_iter().collect(),
        rows,
    };
    machine::result::write(path, &found)
}

/// As it was built.
fn peers_version() -> Option<&'static str> {
    machine::result::locked(include_str!("../Cargo.lock"), "hnsw_rs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_lock() {
        let version = peers_version().expect("hnsw_rs is locked");
        assert!(include_str!("../Cargo.toml").contains(&format!("\"={version}\"")), "{version}");
    }
}
