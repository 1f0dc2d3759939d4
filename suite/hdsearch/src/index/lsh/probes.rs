//! Which buckets of a table a query looks into, the likeliest first.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Most buckets of a table that one query looks into.
pub const PROBES_MAX: usize = 4_096;

/// Calls `probe` with the sets of bits that differ from the query's own hash: none, then by rising sum of the
/// squared distances to the planes that are crossed, `probes` of them or as many as there are. The nearest plane's
/// square is added first, so that the sum of a set is the same however it was reached. Of equal sums, the set without
/// the farthest plane of those in one of both comes first.
///
/// Sets are made as by Lv et al. (VLDB '07, §4.4): from a set of planes, sorted by distance, come that with its
/// last plane moved on by one, and that with the next plane added. Each set comes from one other, which comes
/// before it, so the first not yet tried is always on the heap.
pub(super) fn of(margins: &[f32], probes: usize, mut probe: impl FnMut(u32)) {
    probe(0);
    if probes == 1 || margins.is_empty() {
        return;
    }
    let mut planes: Vec<(f32, u32)> =
        margins.iter().zip(0..).map(|(margin, plane)| (margin * margin, plane)).collect();
    planes.sort_unstable_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
    let mut heap = BinaryHeap::from([Reverse(Crossing::of(planes[0].0))]);
    for _ in 1..probes {
        let Some(Reverse(crossing)) = heap.pop() else { return };
        probe(crossing.flipped(&planes));
        let next = crossing.last + 1;
        if next < planes.len() {
            heap.push(Reverse(crossing.moved(planes[next].0)));
            heap.push(Reverse(crossing.added(planes[next].0)));
        }
    }
}

/// A set of planes to be crossed, by their places in the order of distance.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Crossing {
    cost: f32,
    /// Without the last: a difference would not give it back, since sums are rounded.
    before: f32,
    planes: u32,
    /// The farthest of them.
    last: usize,
}

impl Crossing {
    /// Of the nearest plane.
    const fn of(square: f32) -> Self {
        Self { cost: square, before: 0.0, planes: 1, last: 0 }
    }

    /// With the next plane instead of the last.
    const fn moved(self, square: f32) -> Self {
        let (planes, last) = (self.planes & !(1 << self.last), self.last + 1);
        Self { cost: self.before + square, planes: planes | 1 << last, last, ..self }
    }

    /// With the next plane, too.
    const fn added(self, square: f32) -> Self {
        let last = self.last + 1;
        let planes = self.planes | 1 << last;
        Self { cost: self.cost + square, before: self.cost, planes, last }
    }

    fn flipped(&self, planes: &[(f32, u32)]) -> u32 {
        let crossed = planes[..=self.last].iter().zip(0..);
        crossed
            .filter(|(_, place)| self.planes >> place & 1 == 1)
            .fold(0, |flipped, ((_, plane), _)| flipped | 1 << plane)
    }
}

impl Eq for Crossing {}

impl Ord for Crossing {
    fn cmp(&self, other: &Self) -> Ordering {
        self.cost.total_cmp(&other.cost).then(self.planes.cmp(&other.planes))
    }
}

impl PartialOrd for Crossing {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sets(margins: &[f32], probes: usize) -> Vec<u32> {
        let mut found = Vec::new();
        of(margins, probes, |flipped| found.push(flipped));
        found
    }

    proptest! {
        /// Against computing the cost of every set. Whole numbers make ties, others are rounded.
        #[test]
        fn the_cheapest_sets_come_in_order(
            margins in prop::collection::vec(
                prop_oneof![(-20_i8..20).prop_map(f32::from), -2.0_f32..2.0, -1e3_f32..1e3],
                1..10,
            ),
            probes in 1_usize..600,
        ) {
            let squares: Vec<f32> = margins.iter().map(|margin| margin * margin).collect();
            let mut planes: Vec<usize> = (0..margins.len()).collect();
            planes.sort_by(|&one, &other| squares[one].total_cmp(&squares[other]));
            // By cost, then by place, with the plane's place and not its number as the bit.
            let of_places = |places: u32| {
                let crossed = planes.iter().enumerate().filter(|(place, _)| places >> place & 1 == 1);
                let (mut cost, mut set) = (0.0, 0);
                for (_, &plane) in crossed {
                    cost += squares[plane];
                    set |= 1 << plane;
                }
                (cost, places, set)
            };
            let mut all: Vec<(f32, u32, u32)> = (0..1_u32 << margins.len()).map(of_places).collect();
            all.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
            let wanted: Vec<u32> = all.into_iter().map(|one| one.2).take(probes).collect();
            prop_assert_eq!(sets(&margins, probes), wanted);
        }
    }

    #[test]
    fn the_own_bucket_comes_first() {
        assert_eq!(sets(&[3.0, -1.0, 2.0], 5), [0, 0b010, 0b100, 0b110, 0b001]);
        assert_eq!(sets(&[3.0], 9), [0, 1]);
    }
}
