//! The graph of hnsw_rs: built by all cores, and kept in a file, since that takes minutes.

use crate::Known;
use hnsw_rs::prelude::{AnnT as _, DistL2, Hnsw};
use std::fs;
use std::path::Path;
use std::time::Instant;

/// Of vectors in 32 bits, by their Euclidean distances.
pub(crate) type Graph<'a> = Hnsw<'a, f32, DistL2>;

/// Edges of a point: those of the authors' measurements.
pub(crate) const EDGES: usize = 24;
/// How widely is looked around where a point is inserted: what the authors' own library has unless told otherwise.
const WIDTH_OF_BUILDING: usize = 200;
const LAYERS: usize = 16;

/// Points inserted between two lines that say how far it is.
const CHUNK: usize = 20_000;

/// Files of a graph; the last says that it is whole.
const ENDINGS: [&str; 2] = [".hnsw.data", ".hnsw.graph"];

pub(crate) fn build(known: &Known) -> Graph<'static> {
    let points = known.set.points.rows();
    let graph = Graph::new(EDGES, points.count(), LAYERS, WIDTH_OF_BUILDING, DistL2 {});
    let begun = Instant::now();
    let all: Vec<(&[f32], usize)> =
        (0..points.count()).map(|number| (points.vector(number), number)).collect();
    for chunk in all.chunks(CHUNK) {
        graph.parallel_insert_slice(&chunk.to_vec());
        let (inserted, seconds) = (graph.get_nb_point(), begun.elapsed().as_secs());
        eprintln!("hnsw_rs: {inserted} of {} points, {seconds} s", all.len());
    }
    graph
}

/// The name of the graph of these points in this folder, where it is written unless it is there. A graph of other points of the
/// same number is noticed by its distances.
pub(crate) fn kept(known: &Known, folder: &Path) -> Result<String, String> {
    let count = known.set.points.rows().count();
    let name = format!("hnsw_rs-{count}-{EDGES}-{WIDTH_OF_BUILDING}");
    let path = |name: &str, ending: &str| folder.join(format!("{name}{ending}"));
    if path(&name, ENDINGS[1]).exists() {
        return Ok(name);
    }
    let written = build(known).file_dump(folder, &format!("{name}-part"));
    let part = written.map_err(|why| format!("{}: {why}", folder.display()))?;
    for ending in ENDINGS {
        let (from, to) = (path(&part, ending), path(&name, ending));
        fs::rename(&from, &to).map_err(|why| format!("{}: {why}", from.display()))?;
    }
    Ok(name)
}
