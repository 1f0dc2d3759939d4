//! What hashes must find.

use super::LookUp;
use crate::index::lsh::{Hashed, Settings};
use crate::parts::each;
use std::sync::Arc;
use tailwater_kernels::{Kernels, Level, Rows};

/// A point's bucket has bit i where it lies on the positive side of plane i of the table. A query must be compared with
/// the points of the so many buckets of each table that are nearest to it.
#[derive(Clone, Debug)]
pub struct ByHashes {
    tables: usize,
    probes: usize,
    all: Arc<Vec<OfTable>>,
}

#[derive(Debug)]
struct OfTable {
    planes: Vec<Plane>,
    /// Each point's bucket and the point, sorted.
    points: Vec<(u32, u32)>,
}

#[derive(Debug)]
struct Plane {
    normal: Vec<f32>,
    offset: f32,
}

impl ByHashes {
    /// Hashes each point anew, by all planes of the first so many tables.
    ///
    /// # Panics
    /// When these settings are not among those that were hashed: a mistake of the program.
    #[must_use]
    pub fn new(points: Rows<'_>, hashed: &Hashed, settings: Settings) -> Self {
        let Settings { tables, bits, probes } = settings;
        let (normals, offsets) = hashed.parts().0;
        let plane = |at: usize| Plane { normal: normals.row(at).to_vec(), offset: offsets[at] };
        let table = |table: usize| {
            let planes: Vec<Plane> = (table * bits..(table + 1) * bits).map(plane).collect();
            let buckets = points.all().map(|row| bucket(&distances(row, &planes)));
            let mut points: Vec<(u32, u32)> = buckets.zip(0..).collect();
            points.sort_unstable();
            OfTable { planes, points }
        };
        Self { tables, probes, all: Arc::new(each(tables, table)) }
    }

    /// The same with so many of its tables, and so many buckets of each.
    ///
    /// # Panics
    /// When there are fewer tables: a mistake of the program.
    #[must_use]
    pub fn with(&self, tables: usize, probes: usize) -> Self {
        assert!(tables <= self.all.len(), "tables that were hashed are needed");
        Self { tables, probes, ..self.clone() }
    }
}

impl LookUp for ByHashes {
    fn candidates(&self, query: &[f32]) -> Vec<u32> {
        let mut all = Vec::new();
        for OfTable { planes, points } in &self.all[..self.tables] {
            for bucket in ranked(&distances(query, planes), self.probes) {
                let first = points.partition_point(|&(other, _)| other < bucket);
                let inside = points[first..].iter().take_while(|&&(other, _)| other == bucket);
                all.extend(inside.map(|&(_, point)| point));
            }
        }
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// How far a row is from each plane, positive on one side.
fn distances(row: &[f32], planes: &[Plane]) -> Vec<f32> {
    let scalar = Kernels::up_to(Level::Scalar);
    planes.iter().map(|Plane { normal, offset }| scalar.dot(row, normal) - offset).collect()
}

fn bucket(distances: &[f32]) -> u32 {
    (0..).zip(distances).map(|(bit, &distance)| u32::from(distance > 0.0) << bit).sum()
}

/// The so many buckets that are nearest to a query with these distances from the planes, the nearest first.
///
/// How far a bucket is, is the sum of the squared distances of the planes between, with the nearest plane added first.
/// Of equal sums, compare the farthest plane that is between the query and one of both alone: the other bucket is nearer.
///
/// Plane by plane, the nearest first, the list is doubled by the buckets across that plane, sorted, and cut. What is cut
/// has enough buckets before it, and so has every bucket that would come from it.
fn ranked(distances: &[f32], most: usize) -> Vec<u32> {
    let square = |&distance: &f32| distance * distance;
    let mut planes: Vec<(f32, u32)> = distances.iter().map(square).zip(0..).collect();
    planes.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
    // Of each: how far, which planes are between by their places, and the bucket.
    let mut all = vec![(0.0_f32, 0_u32, bucket(distances))];
    for (place, &(square, plane)) in (0..).zip(&planes) {
        let across = |&(far, between, bucket): &(f32, u32, u32)| {
            (far + square, between | 1 << place, bucket ^ 1 << plane)
        };
        all.extend(all.iter().map(across).collect::<Vec<_>>());
        all.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        all.truncate(most);
    }
    all.into_iter().map(|(_, _, bucket)| bucket).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against all buckets, sorted. Whole numbers make ties, others are rounded.
        #[test]
        fn the_nearest_buckets_are_those_of_all(
            distances in prop::collection::vec(
                prop_oneof![(-3_i8..4).prop_map(f32::from), -2.0_f32..2.0, -1e3_f32..1e3],
                1..10,
            ),
            most in 1_usize..600,
        ) {
            let squares: Vec<f32> = distances.iter().map(|distance| distance * distance).collect();
            let mut planes: Vec<usize> = (0..distances.len()).collect();
            planes.sort_by(|&one, &other| squares[one].total_cmp(&squares[other]));
            let own = bucket(&distances);
            let far = |bucket: u32| {
                let between = planes.iter().filter(|&&plane| (bucket ^ own) >> plane & 1 == 1);
                between.fold(0.0_f32, |sum, &plane| sum + squares[plane])
            };
            let farthest_first = |bucket: u32| -> Vec<bool> {
                planes.iter().rev().map(|&plane| (bucket ^ own) >> plane & 1 == 1).collect()
            };
            let mut all: Vec<u32> = (0..1 << distances.len()).collect();
            all.sort_by(|&one, &other| {
                let sums = far(one).total_cmp(&far(other));
                sums.then_with(|| farthest_first(one).cmp(&farthest_first(other)))
            });
            all.truncate(most);
            prop_assert_eq!(ranked(&distances, most), all);
        }
    }
}
