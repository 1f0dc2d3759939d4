//! Which leaf holds which point, and where it lies there.

use std::iter::StepBy;
use std::ops::Range;

/// The point of each position. Points of neighbouring positions lie near each other on every leaf.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Order(Vec<u32>);

/// Positions go round the leaves: position 7 of four leaves is number 1 of leaf 3. So shards are alike even where the
/// set is sorted, as GloVe's is by how common a word is. And positions one behind the other are one behind the other on
/// each leaf, however many there are.
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

    /// A position's leaf, and its number there.
    #[must_use]
    pub const fn place(&self, position: u32) -> (usize, u32) {
        ((position % self.leaves) as usize, position / self.leaves)
    }

    /// Of these positions, those of a leaf by their numbers there.
    #[must_use]
    pub fn part(&self, positions: &Range<u32>, leaf: usize) -> Range<u32> {
        let before = |position: u32| position.saturating_sub(leaf as u32).div_ceil(self.leaves);
        before(positions.start)..before(positions.end)
    }

    /// The positions of a leaf, by their numbers there.
    pub fn of_leaf(&self, leaf: usize) -> StepBy<Range<u32>> {
        (leaf as u32..self.points).step_by(self.leaves())
    }

    /// How many points a leaf has.
    #[must_use]
    pub fn count(&self, leaf: usize) -> usize {
        self.of_leaf(leaf).len()
    }
}

impl Order {
    /// That of the set.
    #[must_use]
    pub fn as_given(points: u32) -> Self {
        Self((0..points).collect())
    }

    /// By the key of each point, rising; points of one key as the set has them.
    #[must_use]
    pub fn by(keys: &[u32]) -> Self {
        let Self(mut points) = Self::as_given(keys.len() as u32);
        points.sort_by_key(|&point| keys[point as usize]);
        Self(points)
    }

    /// Of each position's point. `None` where a point is missing, or there twice.
    #[must_use]
    pub fn of(points: Vec<u32>) -> Option<Self> {
        let mut seen = vec![false; points.len()];
        let is_new = |&point: &u32| {
            let seen = seen.get_mut(point as usize);
            seen.is_some_and(|seen| !std::mem::replace(seen, true))
        };
        points.iter().all(is_new).then_some(Self(points))
    }

    /// By position.
    #[must_use]
    pub fn points(&self) -> &[u32] {
        &self.0
    }

    /// The points of a leaf, by their numbers there.
    pub fn of_leaf(&self, placement: Placement, leaf: usize) -> impl Iterator<Item = u32> {
        placement.of_leaf(leaf).map(move |position| self.0[position as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_position_has_one_place() {
        for (points, leaves) in [(0, 3), (1, 4), (10, 1), (103, 4), (7, 16)] {
            let placement = Placement::new(points, leaves);
            let mut seen = 0;
            for leaf in 0..placement.leaves() {
                for (local, position) in placement.of_leaf(leaf).enumerate() {
                    assert_eq!(placement.place(position), (leaf, local as u32));
                    seen += 1;
                }
            }
            assert_eq!(seen, points);
        }
    }

    #[test]
    fn a_range_is_a_range_on_each_leaf() {
        for leaves in [1, 2, 3, 16] {
            let placement = Placement::new(40, leaves);
            for positions in [0..40, 0..0, 7..7, 7..8, 5..23, 39..40, 15..17] {
                let mut found: Vec<u32> = (0..placement.leaves())
                    .flat_map(|leaf| {
                        let all: Vec<u32> = placement.of_leaf(leaf).collect();
                        placement.part(&positions, leaf).map(move |local| all[local as usize])
                    })
                    .collect();
                found.sort_unstable();
                assert_eq!(found, positions.collect::<Vec<_>>(), "{leaves} leaves");
            }
        }
    }

    #[test]
    fn an_order_has_each_point_once() {
        assert_eq!(Order::of(vec![2, 0, 1]).map(|order| order.0), Some(vec![2, 0, 1]));
        assert_eq!(Order::of(vec![0, 1, 2]), Some(Order::as_given(3)));
        assert_eq!((Order::of(vec![0, 0, 2]), Order::of(vec![1, 2, 3])), (None, None));
        assert_eq!(Order::by(&[1, 0, 1, 2, 0]).points(), [1, 4, 0, 2, 3]);
        let order = Order::of(vec![4, 3, 2, 1, 0]).expect("an order");
        let of_leaf: Vec<u32> = order.of_leaf(Placement::new(5, 2), 1).collect();
        assert_eq!(of_leaf, [3, 1]);
    }
}
