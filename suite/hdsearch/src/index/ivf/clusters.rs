//! Lloyd's k-means on a sample.

use std::collections::BTreeSet;
use tailwater_core::Rng;
use tailwater_kernels::{Kernels, Rows, Table};

/// How centres are found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Training {
    /// Points of the sample for each centre. FAISS takes 39 at least and 256 at most.
    pub points_each: usize,
    /// How often all points of the sample are assigned and all centres moved.
    pub sweeps: usize,
    /// Decides the sample and the first centres.
    pub seed: u64,
}

impl Default for Training {
    fn default() -> Self {
        Self { points_each: 64, sweeps: 10, seed: 1 }
    }
}

/// So many centres; not more than there are points.
#[must_use]
pub fn centres(points: Rows<'_>, count: usize, training: Training) -> Table {
    let mut rng = Rng::from_seed(training.seed).split("clusters");
    let wanted = count.saturating_mul(training.points_each).clamp(count, points.count().max(count));
    let sample = sample(points.count(), wanted, &mut rng);
    let first = self::sample(sample.len(), count, &mut rng);
    let mut centres = Table::with_capacity(points.dimensions(), count);
    for &place in &first {
        centres.push(points.vector(sample[place as usize] as usize));
    }
    for _ in 0..training.sweeps {
        let rows = sample.iter().map(|&point| points.row(point as usize));
        let nearest = nearest_centres(rows.clone(), centres.rows());
        centres = moved(points, &sample, &nearest, &centres, &mut rng);
    }
    centres
}

/// The number of the nearest centre of each row; of several, the first.
#[must_use]
pub(super) fn nearest_centres<'a>(
    rows: impl Iterator<Item = &'a [f32]>,
    centres: Rows<'_>,
) -> Vec<u32> {
    let kernels = Kernels::best();
    let mut distances = Vec::new();
    rows.map(|row| {
        distances.clear();
        kernels.distances(row, centres, &mut distances);
        let each = distances.iter().zip(0_u32..);
        each.min_by(|one, other| one.0.total_cmp(other.0)).map_or(0, |(_, centre)| centre)
    })
    .collect()
}

/// Each centre moves to the mean of its points. One without points starts anew at a point of the sample.
fn moved(points: Rows<'_>, sample: &[u32], nearest: &[u32], old: &Table, rng: &mut Rng) -> Table {
    let (dimensions, count) = (points.dimensions(), old.rows().count());
    let mut sums = vec![0.0_f64; dimensions * count];
    let mut counts = vec![0_u32; count];
    for (&point, &centre) in sample.iter().zip(nearest) {
        let sums = &mut sums[centre as usize * dimensions..][..dimensions];
        let vector = points.vector(point as usize);
        sums.iter_mut().zip(vector).for_each(|(sum, &value)| *sum += f64::from(value));
        counts[centre as usize] += 1;
    }
    let mut centres = Table::with_capacity(dimensions, count);
    for (sums, &count) in sums.chunks_exact(dimensions).zip(&counts) {
        if count == 0 {
            let point = sample[rng.below(sample.len() as u32) as usize];
            centres.push(points.vector(point as usize));
        } else {
            let mean: Vec<f32> = sums.iter().map(|sum| (sum / f64::from(count)) as f32).collect();
            centres.push(&mean);
        }
    }
    centres
}

/// So many different numbers below `all`, in order: Floyd's sampling.
fn sample(all: usize, wanted: usize, rng: &mut Rng) -> Vec<u32> {
    let all = all as u32;
    let mut chosen = BTreeSet::new();
    for largest in all.saturating_sub(wanted as u32)..all {
        let drawn = rng.below(largest + 1);
        if !chosen.insert(drawn) {
            chosen.insert(largest);
        }
    }
    chosen.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_different_numbers_and_may_be_all() {
        let mut rng = Rng::from_seed(1);
        assert_eq!(sample(10, 10, &mut rng), (0..10).collect::<Vec<_>>());
        let some = sample(1_000, 100, &mut rng);
        assert_eq!(some.len(), 100);
        assert!(some.is_sorted() && some[99] < 1_000);
    }

    /// Four heaps far apart: every centre ends in the middle of one.
    #[test]
    fn centres_find_the_heaps() {
        let mut points = Table::new(2);
        let mut rng = Rng::from_seed(3);
        for point in 0..400 {
            let (x, y) = (point % 2 * 100, point / 2 % 2 * 100);
            points.push(&[x as f32 + rng.unit() as f32, y as f32 + rng.unit() as f32]);
        }
        let found = |seed| {
            let centres = centres(points.rows(), 4, Training { seed, ..Training::default() });
            let rows = centres.rows();
            let mut found: Vec<_> = (0..4)
                .map(|row| [0, 1].map(|axis| (rows.vector(row)[axis] / 10.0).round() as i32))
                .collect();
            found.sort_unstable();
            found
        };
        // Lloyd's way may put two first centres into one heap and stay there: most seeds must not.
        let right = (0..20).filter(|&seed| found(seed) == [[0, 0], [0, 10], [10, 0], [10, 10]]);
        assert!(right.count() >= 2, "found {:?}", (0..20).map(found).collect::<Vec<_>>());
        assert_eq!(found(5), found(5));
    }

    #[test]
    fn sweeps_bring_points_nearer_to_their_centres() {
        let mut points = Table::new(8);
        let mut rng = Rng::from_seed(4);
        for _ in 0..2_000 {
            points.push(&std::array::from_fn::<f32, 8, _>(|_| rng.unit() as f32));
        }
        let error = |sweeps| -> f32 {
            let training = Training { sweeps, ..Training::default() };
            let centres = centres(points.rows(), 50, training);
            let nearest = nearest_centres(points.rows().all(), centres.rows());
            let each = nearest.iter().enumerate().map(|(point, &centre)| {
                let (a, b) = (points.rows().row(point), centres.rows().row(centre as usize));
                Kernels::best().squared_distance(a, b)
            });
            each.sum()
        };
        let errors = [error(0), error(1), error(10)];
        assert!(errors[0] > errors[1] && errors[1] > errors[2], "{errors:?}");
    }
}
