//! The few nearest of many.

use itertools::Itertools as _;
use std::cmp::Ordering;

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

/// The so many nearest of these, the very nearest first.
pub fn nearest(all: impl IntoIterator<Item = Found>, wanted: usize) -> Vec<Found> {
    all.into_iter().k_smallest_by(wanted, Found::order).collect()
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
