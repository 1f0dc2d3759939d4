//! The points that a query is to be compared with, each once, by leaf.

use super::Buckets;
use crate::placement::Placement;
use std::ops::Range;

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
    /// Others, which rise.
    ranges: Vec<Range<u32>>,
}

impl Candidates {
    /// None as yet.
    #[must_use]
    pub fn new(placement: Placement) -> Self {
        let leaf = |leaf| {
            let points = placement.count(leaf);
            let seen = vec![0; points.div_ceil(64)];
            OfLeaf { points: vec![0; points + 1], count: 0, seen, ranges: Vec::new() }
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

    /// Adds the points at these positions, none of which is among them. They come after those of every range before.
    pub fn add_range(&mut self, positions: &Range<u32>) {
        for (number, leaf) in self.leaves.iter_mut().enumerate() {
            leaf.add_range(self.placement.part(positions, number));
        }
    }

    /// Adds the points of a bucket that are not among them.
    pub fn add(&mut self, buckets: &Buckets, bucket: u32) {
        for (number, leaf) in self.leaves.iter_mut().enumerate() {
            leaf.add(buckets.entry(bucket, number));
        }
    }

    /// Those of a leaf that came in ranges, by their numbers there: rising, and with a gap between any two.
    #[must_use]
    pub fn ranges(&self, leaf: usize) -> &[Range<u32>] {
        &self.leaves[leaf].ranges
    }

    /// The others of a leaf, by their numbers there, in no order.
    #[must_use]
    pub fn of_leaf(&self, leaf: usize) -> &[u32] {
        let leaf = &self.leaves[leaf];
        &leaf.points[..leaf.count]
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        let of_leaf = |leaf: &OfLeaf| {
            let in_ranges: usize = leaf.ranges.iter().map(ExactSizeIterator::len).sum();
            leaf.count + in_ranges
        };
        self.leaves.iter().map(of_leaf).sum()
    }
}

impl OfLeaf {
    fn add_range(&mut self, range: Range<u32>) {
        match self.ranges.last_mut() {
            _ if range.is_empty() => {}
            Some(last) if last.end == range.start => last.end = range.end,
            _ => self.ranges.push(range),
        }
    }

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
        self.ranges.clear();
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
                    let all: Vec<u32> = placement.of_leaf(leaf).collect();
                    let of_leaf = candidates.of_leaf(leaf).iter();
                    of_leaf.map(move |&local| all[local as usize])
                })
                .collect();
            let wanted: BTreeSet<u32> =
                (0..1_000).filter(|point| point % 4 == 3 || point % 5 == 1).collect();
            assert_eq!(found.len(), wanted.len());
            assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), wanted);
        }
    }

    #[test]
    fn ranges_that_touch_are_one_on_each_leaf_and_empty_ones_are_none() {
        let placement = Placement::new(100, 3);
        let mut candidates = Candidates::new(placement);
        for _ in 0..2 {
            candidates.clear();
            [3..9, 9..12, 12..12, 20..21, 50..53].iter().for_each(|it| candidates.add_range(it));
            assert_eq!(candidates.count(), 9 + 1 + 3);
            // Positions 3, 6, 9 and 51; 4, 7, 10 and 52; 5, 8, 11, 20 and 50.
            let found: Vec<_> = (0..3).map(|leaf| candidates.ranges(leaf)).collect();
            assert_eq!(found, [&[1..4, 17..18][..], &[1..4, 17..18], &[1..4, 6..7, 16..17]]);
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
