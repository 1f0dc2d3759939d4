//! Random hyperplanes through the middle of the points.

use crate::chance::normal;
use tailwater_core::Rng;
use tailwater_kernels::{Kernels, Rows, Table};

#[derive(Debug)]
pub(super) struct Planes {
    kernels: Kernels,
    /// Unit vectors: the planes of the first table, of the second, …
    normals: Table,
    /// The product of each with the mean of the points.
    offsets: Vec<f32>,
}

impl Planes {
    pub(super) fn new(points: Rows<'_>, count: usize, seed: u64) -> Self {
        let kernels = Kernels::best();
        let root = Rng::from_seed(seed).split("planes");
        let mut normals = Table::with_capacity(points.dimensions(), count);
        for plane in 0..count {
            // Each its own generator: a plane is the same whatever is beside it.
            let mut rng = root.split(&plane.to_string());
            normals.push(&unit_vector(points.dimensions(), &mut rng));
        }
        let mut offsets = Vec::new();
        kernels.dots(&mean(points), normals.rows(), &mut offsets);
        Self { kernels, normals, offsets }
    }

    pub(super) fn of_parts(normals: Table, offsets: Vec<f32>) -> Self {
        Self { kernels: Kernels::best(), normals, offsets }
    }

    pub(super) fn parts(&self) -> (Rows<'_>, &[f32]) {
        (self.normals.rows(), &self.offsets)
    }

    /// The distance of a row to each plane, positive on one side.
    pub(super) fn margins(&self, row: &[f32], margins: &mut Vec<f32>) {
        self.first_margins(row, self.offsets.len(), margins);
    }

    /// The same for the first so many planes.
    pub(super) fn first_margins(&self, row: &[f32], count: usize, margins: &mut Vec<f32>) {
        margins.clear();
        self.kernels.dots(row, self.normals.rows().first(count), margins);
        margins.iter_mut().zip(&self.offsets).for_each(|(margin, offset)| *margin -= offset);
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.normals.rows().values()) + size_of_val(&self.offsets[..])
    }
}

/// Uniform over all directions.
fn unit_vector(dimensions: usize, rng: &mut Rng) -> Vec<f32> {
    let drawn: Vec<f64> = (0..dimensions).map(|_| normal(rng)).collect();
    let length = drawn.iter().map(|value| value * value).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
    drawn.into_iter().map(|value| (value / length) as f32).collect()
}

/// Zero without points.
fn mean(points: Rows<'_>) -> Vec<f32> {
    let mut sums = vec![0.0_f64; points.padded(&vec![0.0; points.dimensions()]).len()];
    for point in points.all() {
        sums.iter_mut().zip(point).for_each(|(sum, &value)| *sum += f64::from(value));
    }
    let count = points.count().max(1) as f64;
    sums.into_iter().map(|sum| (sum / count) as f32).collect()
}
