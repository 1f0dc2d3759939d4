//! hnsw_rs: a graph of near neighbours in layers (Malkov and Yashunin, 2018).

use crate::graph::{self, EDGES, Graph};
use crate::{Known, NEIGHBOURS, Row};
use hnsw_rs::prelude::HnswIo;
use std::collections::BTreeSet;
use std::path::Path;
use tailwater_hdsearch::frontier::{Times, Worked};
use tailwater_hdsearch::nearest::Found;
use tailwater_hdsearch::quality::recall;

/// How widely a query looks around.
const WIDTHS: [usize; 13] = [10, 15, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640];

/// Queries asked before time is taken: as many as for ours and for FAISS.
const WARM_UP: usize = 50;

/// Distances are computed in another order than ours.
const TOLERANCE: f32 = 1e-3;

/// By the graph that lies in this folder, if one is given; what lies there not yet is built first.
pub(crate) fn rows(known: &Known, folder: Option<&Path>) -> Result<Vec<Row>, String> {
    let Some(folder) = folder else { return asked(known, graph::build(known)) };
    let name = graph::kept(known, folder)?;
    let mut file = HnswIo::new(folder, &name);
    let found = file.load_hnsw().map_err(|why| format!("{}: {why}", folder.display()))?;
    asked(known, found)
}

fn asked(known: &Known, mut index: Graph<'_>) -> Result<Vec<Row>, String> {
    index.set_searching_mode(true);
    WIDTHS.iter().map(|&width| row(known, &index, width)).collect()
}

fn row(known: &Known, index: &Graph<'_>, width: usize) -> Result<Row, String> {
    let queries = known.set.queries.rows();
    let (mut times, mut recalls) = (Vec::new(), 0.0);
    for number in known.truth.len().saturating_sub(WARM_UP)..known.truth.len() {
        index.search(queries.vector(number), NEIGHBOURS, width);
    }
    for (number, truth) in known.truth.iter().enumerate() {
        let query = queries.vector(number);
        let begun = Worked::now();
        let found = index.search(query, NEIGHBOURS, width);
        times.push(begun.elapsed());
        let found: Vec<Found> = (found.iter())
            .map(|it| Found { point: it.d_id as u32, distance: it.distance * it.distance })
            .collect();
        check(known, query, &found).map_err(|why| format!("hnsw_rs, query {number}: {why}"))?;
        recalls += recall(truth, &found, NEIGHBOURS);
    }
    let Times { p50, p99 } = Times::of(times);
    Ok(Row {
        index: "hnsw_rs",
        settings: format!("{EDGES} edges, width {width}"),
        recall_10: recalls / known.truth.len().max(1) as f64,
        p50_us: p50,
        p99_us: p99,
    })
}

/// It may miss points; those that it gives must be of the set, each once, at their distances and in order.
fn check(known: &Known, query: &[f32], found: &[Found]) -> Result<(), String> {
    let points = known.set.points.rows();
    let distinct: BTreeSet<u32> = found.iter().map(|it| it.point).collect();
    if found.len() > NEIGHBOURS || distinct.len() != found.len() {
        return Err(format!("found {} points, {} of them different", found.len(), distinct.len()));
    }
    for one in found {
        if one.point as usize >= points.count() {
            return Err(format!("found point {}, which is not there", one.point));
        }
        let row = points.vector(one.point as usize);
        let needed: f32 = query.iter().zip(row).map(|(a, b)| (a - b) * (a - b)).sum();
        if (needed - one.distance).abs() > TOLERANCE * needed.max(1.0) {
            return Err(format!(
                "found distance {} of point {}; it is {needed}",
                one.distance, one.point
            ));
        }
    }
    match found.is_sorted_by(|one, other| one.distance <= other.distance) {
        true => Ok(()),
        false => Err("found points out of order".into()),
    }
}
