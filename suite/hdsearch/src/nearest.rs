//! The few nearest of many.

use itertools::Itertools as _;
use std::cmp::Ordering;

/// A point that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// Its number in the set.
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
    let all = all.into_iter().map(|Found { point, distance }| (point, distance));
    nearest_of_places(all, wanted, |point| point)
}

/// The same of points that are told by their places. `point` says which one lies at a place: it is asked where distances
/// are equal, and for what is found.
pub fn nearest_of_places(
    all: impl IntoIterator<Item = (u32, f32)>,
    wanted: usize,
    point: impl Fn(u32) -> u32,
) -> Vec<Found> {
    let order = |one: &(u32, f32), other: &(u32, f32)| {
        one.1.total_cmp(&other.1).then_with(|| point(one.0).cmp(&point(other.0)))
    };
    let smallest = all.into_iter().k_smallest_by(wanted, order);
    smallest.map(|(place, distance)| Found { point: point(place), distance }).collect()
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

        /// Places in another order than their points: equal distances are told apart by the points.
        #[test]
        fn places_are_told_apart_by_their_points(
            distances in prop::collection::vec(0_u8..6, 0..60),
            wanted in 0_usize..20,
        ) {
            let point = |place: u32| distances.len() as u32 - 1 - place;
            let places = (0..).zip(&distances).map(|(place, &distance)| (place, f32::from(distance)));
            let points = places.clone().map(|(place, distance)| Found { point: point(place), distance });
            prop_assert_eq!(nearest_of_places(places, wanted, point), nearest(points, wanted));
        }
    }
}
