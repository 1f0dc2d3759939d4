//! What clusters must find.

use super::LookUp;
use crate::index::ivf::Clustered;
use std::sync::Arc;
use tailwater_kernels::{Kernels, Level, Rows};

/// A point is in the list of the nearest centre. A query must be compared with the points of the so many lists whose
/// centres are nearest to it. Of equal distances, the centre with the smaller number is nearer.
#[derive(Clone, Debug)]
pub struct ByClusters {
    probes: usize,
    centres: Arc<Vec<Vec<f32>>>,
    /// The points of each list.
    lists: Arc<Vec<Vec<u32>>>,
}

impl ByClusters {
    /// Compares each point with each centre. Of what was clustered it takes the centres alone.
    #[must_use]
    pub fn new(points: Rows<'_>, clustered: &Clustered, probes: usize) -> Self {
        let centres: Vec<Vec<f32>> = clustered.parts().0.all().map(<[f32]>::to_vec).collect();
        let mut lists = vec![Vec::new(); centres.len()];
        for (point, row) in (0..).zip(points.all()) {
            if let Some(list) = by_distance(row, &centres).into_iter().min_by(nearer) {
                lists[list.1].push(point);
            }
        }
        Self { probes, centres: Arc::new(centres), lists: Arc::new(lists) }
    }

    /// The same where so many lists are looked into.
    #[must_use]
    pub fn with(&self, probes: usize) -> Self {
        Self { probes, ..self.clone() }
    }
}

impl LookUp for ByClusters {
    fn candidates(&self, query: &[f32]) -> Vec<u32> {
        let mut centres = by_distance(query, &self.centres);
        centres.sort_by(nearer);
        let looked_into = centres.iter().take(self.probes);
        let mut all: Vec<u32> =
            looked_into.flat_map(|&(_, list)| &self.lists[list]).copied().collect();
        all.sort_unstable();
        all
    }
}

/// The squared distance of each centre, and its number.
fn by_distance(row: &[f32], centres: &[Vec<f32>]) -> Vec<(f32, usize)> {
    let scalar = Kernels::up_to(Level::Scalar);
    (0..)
        .zip(centres)
        .map(|(number, centre)| (scalar.squared_distance(row, centre), number))
        .collect()
}

fn nearer(one: &(f32, usize), other: &(f32, usize)) -> std::cmp::Ordering {
    one.0.total_cmp(&other.0).then(one.1.cmp(&other.1))
}
