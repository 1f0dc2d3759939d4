//! The vectors as raw numbers, little-endian, for programs in other languages, and what they are.

use crate::Known;
use serde::Serialize;
use std::fs;
use std::path::Path;
use tailwater_hdsearch::vectors::Set;
use tailwater_kernels::Rows;

#[derive(Serialize)]
struct Shape<'a> {
    set: &'a str,
    points: usize,
    queries: usize,
    dimensions: usize,
    neighbours: usize,
}

pub(crate) fn all(known: &Known, folder: &Path) -> Result<(), String> {
    let Known { about, set: Set { points, queries, .. }, truth } = known;
    let (points, queries) = (points.rows(), queries.rows());
    let values = |rows: Rows<'_>| -> Vec<u8> {
        let each = (0..rows.count()).flat_map(|number| rows.vector(number));
        each.flat_map(|value| value.to_le_bytes()).collect()
    };
    let nearest = truth.iter().flatten().flat_map(|found| found.point.to_le_bytes()).collect();
    let shape = Shape {
        set: about,
        points: points.count(),
        queries: queries.count(),
        dimensions: points.dimensions(),
        neighbours: truth.first().map_or(0, Vec::len),
    };
    fs::create_dir_all(folder).map_err(|why| format!("{}: {why}", folder.display()))?;
    for (name, bytes) in
        [("points.f32", values(points)), ("queries.f32", values(queries)), ("truth.u32", nearest)]
    {
        let path = folder.join(name);
        fs::write(&path, bytes).map_err(|why| format!("{}: {why}", path.display()))?;
    }
    machine::result::write(&folder.join("shape.json"), &shape)
}
