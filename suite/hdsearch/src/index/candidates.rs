//! The points that a query is to be compared with, each once, by leaf.

use super::Buckets;
use crate::placement::Placement;

/// Room for the candidates of one query at a time, which is used again for the next. Takes four bytes and a bit
/// for each point of the set, however many candidates there are.
#[derive(Debug)]
pub struct Candidates {
    placement: Placement,
    leaves: Vec<OfLeaf>,
}

#[derive(Debug)]
struct OfLeaf {
    /// The first `count` are candidates. One longer than there are points: see [`OfLeaf::add`].
    points: Vec<u32>,
    count: usize,
    /// A bit for each point of the leaf: it is among them.
    seen: Vec<u64>,
}

impl Candidates {
    /// None as yet.
    #[must_use]
    pub fn new(placement: Placement) -> Self {
        let leaf = |leaf| {
            let points = placement.count(leaf);
            OfLeaf { points: vec![0; points + 1], count: 0, seen: vec![0; points.div_ceil(64)] }
        };
        Self { placement, leaves: (0..placement.leaves()).map(leaf).collect() }
    }

    /// What they are for.
    #[must_use]
    pub const fn placement(&self) -> Placement {
        self.placement
    }

    /// Forgets them all.
    pub fn clear(&mut self) {
        self.leaves.iter_mut().for_each(OfLeaf::clear);
    }

    /// Adds the points of a bucket that are not among them.
    pub fn add(&mut self, buckets: &Buckets, bucket: u32) {
        for (number, leaf) in self.leaves.iter_mut().enumerate() {
            leaf.add(buckets.entry(bucket, number));
        }
    }

    /// Those of a leaf, by their numbers there, in no order.
    #[must_use]
    pub fn of_leaf(&self, leaf: usize) -> &[u32] {
        let leaf = &self.leaves[leaf];
        &leaf.points[..leaf.count]
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.leaves.iter().map(|leaf| leaf.count).sum()
    }
}

impl OfLeaf {
    /// Without a branch on whether a point is new, which a processor could not foresee: every point is written
    /// behind the last, and counts if it is new.
    fn add(&mut self, points: &[u32]) {
        for &point in points {
            let (word, bit) = (&mut self.seen[point as usize / 64], 1_u64 << (point % 64));
            self.points[self.count] = point;
            self.count += usize::from(*word & bit == 0);
            *word |= bit;
        }
    }

    fn clear(&mut self) {
        for &point in &self.points[..self.count] {
            self.seen[point as usize / 64] = 0;
        }
        self.count = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_point_is_one_once_and_none_after_clearing() {
        let placement = Placement::new(1_000, 3);
        let one =
            Buckets::new(4, placement, &(0..1_000).map(|point| point % 4).collect::<Vec<_>>());
        let other =
            Buckets::new(5, placement, &(0..1_000).map(|point| point % 5).collect::<Vec<_>>());
        let mut candidates = Candidates::new(placement);
        for _ in 0..2 {
            candidates.clear();
            assert_eq!(candidates.count(), 0);
            candidates.add(&one, 3);
            candidates.add(&other, 1);
            candidates.add(&one, 3);
            let found: Vec<u32> = (0..3)
                .flat_map(|leaf| {
                    let of_leaf = candidates.of_leaf(leaf).iter();
                    of_leaf.map(move |&local| placement.point(leaf, local))
                })
                .collect();
            let wanted: BTreeSet<u32> =
                (0..1_000).filter(|point| point % 4 == 3 || point % 5 == 1).collect();
            assert_eq!(found.len(), wanted.len());
            assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), wanted);
        }
    }

    #[test]
    fn all_points_fit() {
        let placement = Placement::new(130, 2);
        let all = Buckets::new(1, placement, &[0; 130]);
        let mut candidates = Candidates::new(placement);
        candidates.add(&all, 0);
        candidates.add(&all, 0);
        assert_eq!(candidates.count(), 130);
    }
}
