//! Answers by plain code: what every answer is compared with.
//!
//! [`LookUp`] says which points an index must find, by the index's definition: of the index it takes the planes or centres,
//! which chance has chosen, and nothing else. [`nearest_of`] finds the nearest of these. [`nearest_of_all`] looks at every
//! point, by the widest kernel: answers are not compared with it, but measured, and a test compares it with
//! [`nearest_of`].

mod clusters;
mod hashes;

pub use clusters::ByClusters;
pub use hashes::ByHashes;

use crate::nearest::{Found, nearest};
use tailwater_kernels::{Kernels, Level, Rows};

/// What an index must find.
pub trait LookUp: Send + Sync {
    /// The points that a query must be compared with, each once, by rising number. `query` is a row with its padding.
    fn candidates(&self, query: &[f32]) -> Vec<u32>;
}

/// The nearest of all points, by looking at each.
#[must_use]
pub fn nearest_of_all(points: Rows<'_>, query: &[f32], wanted: usize) -> Vec<Found> {
    let mut distances = Vec::new();
    Kernels::best().distances(query, points, &mut distances);
    nearest(found((0..).zip(distances)), wanted)
}

/// The nearest of some points, of which none is there twice: by scalar code and sorting all.
#[must_use]
pub fn nearest_of(
    points: Rows<'_>,
    query: &[f32],
    candidates: impl Iterator<Item = u32>,
    wanted: usize,
) -> Vec<Found> {
    let scalar = Kernels::up_to(Level::Scalar);
    let measured =
        candidates.map(|point| (point, scalar.squared_distance(query, points.row(point as usize))));
    let mut all: Vec<Found> = found(measured).collect();
    all.sort_unstable_by(Found::order);
    all.truncate(wanted);
    all
}

fn found(measured: impl Iterator<Item = (u32, f32)>) -> impl Iterator<Item = Found> {
    measured.map(|(point, distance)| Found { point, distance })
}
