//! Which buckets of a table a query looks into, the likeliest first.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Most buckets of a table that one query looks into.
pub const PROBES_MAX: usize = 4_096;

/// Calls `probe` with the sets of bits that differ from the query's own hash: none, then by rising sum of the
/// squared distances to the planes that are crossed, `probes` of them or as many as there are.
///
/// Sets are made as by Lv et al. (VLDB '07, §4.4): from a set of planes, sorted by distance, come that with its
/// last plane moved on by one, and that with the next plane added. Each set comes from one other, which is not
/// costlier, so the cheapest not yet tried is always on the heap.
pub(super) fn of(margins: &[f32], probes: usize, mut probe: impl FnMut(u32)) {
    probe(0);
    if probes == 1 || margins.is_empty() {
        return;
    }
    let mut planes: Vec<(f32, u32)> =
        margins.iter().zip(0..).map(|(margin, plane)| (margin * margin, plane)).collect();
    planes.sort_unstable_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
    let mut heap = BinaryHeap::from([Reverse(Crossing { cost: planes[0].0, planes: 1, last: 0 })]);
    for _ in 1..probes {
        let Some(Reverse(crossing)) = heap.pop() else { return };
        probe(crossing.flipped(&planes));
        let next = crossing.last + 1;
        if next < planes.len() {
            let added = planes[next].0;
            let cost = crossing.cost - planes[crossing.last].0 + added;
            let moved = crossing.planes & !(1 << crossing.last) | 1 << next;
            heap.push(Reverse(Crossing { cost, planes: moved, last: next }));
            let cost = crossing.cost + added;
            heap.push(Reverse(Crossing { cost, planes: crossing.planes | 1 << next, last: next }));
        }
    }
}

/// A set of planes to be crossed, by their places in the order of distance.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Crossing {
    cost: f32,
    planes: u32,
    /// The farthest of them.
    last: usize,
}

impl Crossing {
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
    use std::collections::BTreeSet;

    fn sets(margins: &[f32], probes: usize) -> Vec<u32> {
        let mut found = Vec::new();
        of(margins, probes, |flipped| found.push(flipped));
        found
    }

    proptest! {
        /// Against computing the cost of every set.
        #[test]
        fn the_cheapest_sets_come_in_order(
            margins in prop::collection::vec((-20_i8..20).prop_map(f32::from), 1..10),
            probes in 1_usize..600,
        ) {
            let cost = |set: u32| -> f32 {
                let crossed = margins.iter().enumerate().filter(|(bit, _)| set >> bit & 1 == 1);
                crossed.map(|(_, margin)| margin * margin).sum()
            };
            let mut costs: Vec<f32> = (0..1_u32 << margins.len()).map(cost).collect();
            costs.sort_unstable_by(f32::total_cmp);
            costs.truncate(probes);
            let found = sets(&margins, probes);
            prop_assert_eq!(found.iter().map(|&set| cost(set)).collect::<Vec<_>>(), costs);
            prop_assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), found.len(), "no set twice");
        }
    }

    #[test]
    fn the_own_bucket_comes_first() {
        assert_eq!(sets(&[3.0, -1.0, 2.0], 5), [0, 0b010, 0b100, 0b110, 0b001]);
        assert_eq!(sets(&[3.0], 9), [0, 1]);
    }
}
