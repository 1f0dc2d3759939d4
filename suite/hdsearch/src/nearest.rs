//! The few nearest of many.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A point that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// Its number: in the whole set, or in its leaf's shard where a leaf speaks.
    pub point: u32,
    /// Its squared Euclidean distance from the query. Roots are not taken: they would make ties.
    pub distance: f32,
}

impl Found {
    /// Less is better: by rising distance, then by rising number, so that no two points tie.
    #[must_use]
    pub fn order(&self, other: &Self) -> Ordering {
        self.distance.total_cmp(&other.distance).then(self.point.cmp(&other.point))
    }
}

/// Keeps the nearest of those that it is offered.
#[derive(Debug)]
pub struct Nearest {
    wanted: usize,
    heap: BinaryHeap<Ranked>,
}

impl Nearest {
    /// Of which so many are wanted.
    #[must_use]
    pub fn new(wanted: usize) -> Self {
        Self { wanted, heap: BinaryHeap::with_capacity(wanted.min(1 << 16) + 1) }
    }

    /// One more.
    pub fn offer(&mut self, found: Found) {
        if self.heap.len() < self.wanted {
            self.heap.push(Ranked(found));
        } else if let Some(mut worst) = self.heap.peek_mut()
            && found.order(&worst.0).is_lt()
        {
            *worst = Ranked(found);
        }
    }

    /// The nearest, the very nearest first.
    #[must_use]
    pub fn sorted(self) -> Vec<Found> {
        self.heap.into_sorted_vec().into_iter().map(|Ranked(found)| found).collect()
    }
}

/// The nearest of these.
pub fn nearest(all: impl IntoIterator<Item = Found>, wanted: usize) -> Vec<Found> {
    let mut kept = Nearest::new(wanted);
    all.into_iter().for_each(|found| kept.offer(found));
    kept.sorted()
}

/// Ordered with the worst on top of the heap.
#[derive(Debug, PartialEq)]
struct Ranked(Found);

impl Eq for Ranked {}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.order(&other.0)
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_sorting(distances in prop::collection::vec(0_u8..6, 0..60), wanted in 0_usize..20) {
            let all = distances.iter().enumerate().map(|(point, &distance)| Found {
                point: point as u32,
                distance: f32::from(distance),
            });
            let mut sorted: Vec<_> = all.clone().collect();
            sorted.sort_by(Found::order);
            sorted.truncate(wanted);
            prop_assert_eq!(nearest(all, wanted), sorted);
        }
    }
}
