//! Which leaf holds which point.

use std::iter::StepBy;
use std::ops::Range;

/// Points go round the leaves: point 7 of four leaves is number 1 of leaf 3. So shards are alike even where the
/// set is sorted, as GloVe's is by how common a word is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Placement {
    leaves: u32,
    points: u32,
}

impl Placement {
    /// Most leaves.
    pub const LEAVES_MAX: u32 = 256;

    /// So many points on so many leaves, of which there is one at least and [`Self::LEAVES_MAX`] at most.
    #[must_use]
    pub fn new(points: u32, leaves: u32) -> Self {
        Self { leaves: leaves.clamp(1, Self::LEAVES_MAX), points }
    }

    /// How many leaves there are.
    #[must_use]
    pub const fn leaves(&self) -> usize {
        self.leaves as usize
    }

    /// How many points there are.
    #[must_use]
    pub const fn points(&self) -> usize {
        self.points as usize
    }

    /// A point's leaf, and its number there.
    #[must_use]
    pub const fn place(&self, point: u32) -> (usize, u32) {
        ((point % self.leaves) as usize, point / self.leaves)
    }

    /// The point of this number on a leaf.
    #[must_use]
    pub const fn point(&self, leaf: usize, local: u32) -> u32 {
        local * self.leaves + leaf as u32
    }

    /// The points of a leaf, by their numbers there.
    pub fn of_leaf(&self, leaf: usize) -> StepBy<Range<u32>> {
        (leaf as u32..self.points).step_by(self.leaves())
    }

    /// How many points a leaf has.
    #[must_use]
    pub fn count(&self, leaf: usize) -> usize {
        self.of_leaf(leaf).len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_has_one_place() {
        for (points, leaves) in [(0, 3), (1, 4), (10, 1), (103, 4), (7, 16)] {
            let placement = Placement::new(points, leaves);
            let mut seen = 0;
            for leaf in 0..placement.leaves() {
                for (local, point) in placement.of_leaf(leaf).enumerate() {
                    assert_eq!(placement.place(point), (leaf, local as u32));
                    assert_eq!(placement.point(leaf, local as u32), point);
                    seen += 1;
                }
            }
            assert_eq!(seen, points);
        }
    }
}
