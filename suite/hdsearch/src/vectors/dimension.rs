//! How hard a set is to search: the dimension that it has near its points, and how much nearer neighbours are than
//! other points.

use crate::nearest::Found;
use tailwater_core::Rng;
use tailwater_kernels::{Kernels, Rows};

/// What was measured of a set.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Shape {
    /// The intrinsic dimension near the queries: by maximum likelihood from the distances of their nearest
    /// neighbours (Levina and Bickel, NIPS '04, eq. 8), the inverses averaged (MacKay and Ghahramani's correction).
    /// Benchmarks of nearest neighbours call it local intrinsic dimensionality (Aumüller and Ceccarello,
    /// SISAP '19).
    pub dimension: f64,
    /// The mean distance of a query to a point, in parts of that to its nearest. Its name is relative contrast ("On
    /// the Difficulty of Nearest Neighbor Search", ICML '12). One: all are equally far, and search is pointless.
    pub contrast: f64,
    /// From how many neighbours of a query.
    pub neighbours: usize,
    /// From how many queries.
    pub queries: usize,
}

/// Points that a query's mean distance is taken from.
const SAMPLE: usize = 1_000;

/// Measures a set from the true nearest neighbours of its queries, at least two of each. Neighbours at distance
/// zero tell nothing and are left out. `None` where nothing is left.
#[must_use]
pub fn shape(points: Rows<'_>, queries: Rows<'_>, truth: &[Vec<Found>]) -> Option<Shape> {
    let mut rng = Rng::from_seed(1).split("sample");
    let sample: Vec<u32> = (0..SAMPLE).map(|_| rng.below(points.count() as u32)).collect();
    let kernels = Kernels::best();
    let (mut inverses, mut contrasts) = (Vec::new(), Vec::new());
    let mut distances = Vec::new();
    for (query, found) in queries.all().zip(truth) {
        let roots: Vec<f64> = found
            .iter()
            .map(|found| f64::from(found.distance).sqrt())
            .filter(|root| *root > 0.0)
            .collect();
        let (Some(nearest), Some(inverse)) = (roots.first(), inverse_dimension(&roots)) else {
            continue;
        };
        inverses.push(inverse);
        distances.clear();
        kernels.distances_of(query, points, &sample, &mut distances).ok()?;
        let sum: f64 = distances.iter().map(|&distance| f64::from(distance).sqrt()).sum();
        contrasts.push(sum / SAMPLE as f64 / nearest);
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    (!inverses.is_empty()).then(|| Shape {
        dimension: 1.0 / mean(&inverses),
        contrast: mean(&contrasts),
        neighbours: truth.iter().map(Vec::len).max().unwrap_or(0),
        queries: inverses.len(),
    })
}

/// One over the dimension: the mean logarithm of how much farther the last of the neighbours is than each other.
fn inverse_dimension(distances: &[f64]) -> Option<f64> {
    let (last, others) = distances.split_last()?;
    let sum: f64 = others.iter().map(|distance| (last / distance).ln()).sum();
    // With one less than there are others the estimate has no bias (ibid., §3).
    let inverse = sum / (others.len().checked_sub(1)?.max(1)) as f64;
    (inverse > 0.0).then_some(inverse)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle;
    use tailwater_kernels::Table;

    /// Uniform in a cube of few dimensions, turned into ten.
    fn cube(dimensions: usize) -> (Table, Table) {
        let mut rng = Rng::from_seed(1);
        let mut draw = |count| {
            let mut table = Table::new(10);
            for _ in 0..count {
                let place: Vec<f32> = (0..dimensions).map(|_| rng.unit() as f32).collect();
                let vector: Vec<f32> = (0..10)
                    .map(|axis| place[axis % dimensions] * (1 + axis / dimensions) as f32)
                    .collect();
                table.push(&vector);
            }
            table
        };
        (draw(20_000), draw(200))
    }

    #[test]
    fn the_dimension_is_that_of_the_cube() {
        for dimensions in [1, 2, 5] {
            let (points, queries) = cube(dimensions);
            let truth: Vec<_> = queries
                .rows()
                .all()
                .map(|query| oracle::nearest_of_all(points.rows(), query, 50))
                .collect();
            let shape = shape(points.rows(), queries.rows(), &truth).expect("measured");
            let ratio = shape.dimension / dimensions as f64;
            // Near the walls of a cube there are fewer neighbours, which makes it look smaller.
            assert!((0.8..1.1).contains(&ratio), "{} of {dimensions}", shape.dimension);
            assert!(shape.contrast > 3.0 && shape.queries == 200);
        }
    }

    #[test]
    fn nothing_is_measured_from_nothing() {
        let (points, queries) = cube(1);
        assert_eq!(shape(points.rows(), queries.rows(), &vec![Vec::new(); 200]), None);
        assert_eq!(inverse_dimension(&[1.0]), None);
        assert_eq!(inverse_dimension(&[1.0, 1.0, 1.0]), None);
    }
}
