//! The users that are most like a given one, and the prediction that follows from them.

use std::cmp::Ordering;

/// A user that is like the one of a query, and what follows from that user for the query.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Neighbour {
    /// Which user.
    pub user: u32,
    /// How much alike. A number.
    pub similarity: f32,
    /// What is averaged: see [`crate::model::Among`].
    pub value: f32,
}

impl Neighbour {
    /// The more alike first, of equals the user with the lower number: no two users are equal in it, so the best
    /// of the shards' best are the best of all.
    #[must_use]
    pub fn order(&self, other: &Self) -> Ordering {
        other.similarity.total_cmp(&self.similarity).then(self.user.cmp(&other.user))
    }
}

/// The best so many of those that were offered.
#[derive(Clone, PartialEq, Debug)]
pub struct Nearest {
    most: usize,
    best: Vec<Neighbour>,
}

impl Nearest {
    /// Keeps at most so many.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { most, best: Vec::with_capacity(most + 1) }
    }

    /// Keeps this one if it is among the best.
    pub fn offer(&mut self, neighbour: Neighbour) {
        if self.best.len() == self.most
            && self.best.last().is_none_or(|last| last.order(&neighbour).is_lt())
        {
            return;
        }
        let place = self.best.partition_point(|better| better.order(&neighbour).is_lt());
        self.best.insert(place, neighbour);
        self.best.truncate(self.most);
    }

    /// The best, in order.
    #[must_use]
    pub fn into_best(self) -> Vec<Neighbour> {
        self.best
    }
}

/// The best of the best that shards found.
#[must_use]
pub fn merge(shards: impl IntoIterator<Item = Vec<Neighbour>>, most: usize) -> Vec<Neighbour> {
    let mut nearest = Nearest::new(most);
    shards.into_iter().flatten().for_each(|neighbour| nearest.offer(neighbour));
    nearest.into_best()
}

/// The mean of the neighbours' values, each weighted by its similarity. A `shrinkage` above zero draws it to zero, as
/// neighbours of value zero with that much similarity together would. The source is Bell and Koren, "Improved
/// neighborhood-based collaborative filtering", KDD Cup 2007, §3. Without one, and where no similarity is above zero,
/// it is the plain mean. `None` without neighbours.
#[must_use]
pub fn weighted_mean(neighbours: &[Neighbour], shrinkage: f64) -> Option<f64> {
    let weight = |neighbour: &Neighbour| f64::from(neighbour.similarity.max(0.0));
    let weights = shrinkage + neighbours.iter().map(weight).sum::<f64>();
    if weights > 0.0 && !neighbours.is_empty() {
        let sum: f64 = neighbours.iter().map(|it| weight(it) * f64::from(it.value)).sum();
        return Some(sum / weights);
    }
    crate::ratings::mean(neighbours.iter().map(|neighbour| neighbour.value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Few similarities, so that many are equal.
        #[test]
        fn it_keeps_what_sorting_keeps_however_it_is_sharded(
            similarities in prop::collection::vec(-2_i8..3, 0..60), most in 1_usize..9, shards in 1_usize..5,
        ) {
            let all: Vec<Neighbour> = (0..).zip(&similarities).map(|(user, &similarity)| {
                Neighbour { user, similarity: similarity.into(), value: user as f32 }
            }).collect();
            let of_shard = |shard: usize| {
                let mut nearest = Nearest::new(most);
                all.iter().skip(shard).step_by(shards).for_each(|&it| nearest.offer(it));
                nearest.into_best()
            };
            let mut sorted = all.clone();
            sorted.sort_by(Neighbour::order);
            sorted.truncate(most);
            prop_assert_eq!(merge((0..shards).map(of_shard), most), sorted);
        }
    }

    #[test]
    fn means_are_weighted_where_there_are_weights() {
        let shrunken = |pairs: &[(f32, f32)], shrinkage| {
            let one = |(user, &(similarity, value))| Neighbour { user, similarity, value };
            weighted_mean(&(0..).zip(pairs).map(one).collect::<Vec<_>>(), shrinkage)
        };
        let of = |pairs: &[(f32, f32)]| shrunken(pairs, 0.0);
        assert_eq!((of(&[]), shrunken(&[], 2.0)), (None, None));
        assert_eq!(shrunken(&[(1.0, 4.0), (0.5, 1.0)], 1.5), Some(1.5));
        assert_eq!(shrunken(&[(0.0, 4.0)], 1.5), Some(0.0));
        assert_eq!(of(&[(1.0, 4.0), (0.5, 1.0)]), Some(3.0));
        assert_eq!(of(&[(1.0, 4.0), (-1.0, 1.0)]), Some(4.0), "the opposite has no weight");
        assert_eq!(of(&[(0.0, 4.0), (-1.0, 1.0)]), Some(2.5));
    }
}
