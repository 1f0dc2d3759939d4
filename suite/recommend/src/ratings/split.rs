//! Ratings divided: some held out to judge predictions by, or slices by the order of a file.

use super::{Rating, Ratings};
use tailwater_core::Rng;

/// A set of ratings in two: what a model may see, and what it is judged by.
#[derive(Clone, PartialEq, Debug)]
pub struct Split {
    /// What a model may see.
    pub seen: Ratings,
    /// The rest.
    pub held_out: Vec<Rating>,
}

impl Split {
    /// Holds out each rating with this probability. Each user keeps one at least: the service predicts for users
    /// of whom something is known (thesis, §2.2.4).
    #[must_use]
    pub fn of(ratings: &Ratings, share: f64, seed: u64) -> Self {
        let mut rng = Rng::from_seed(seed).split("held out");
        let (mut seen, mut held_out) = (Vec::new(), Vec::new());
        for user in 0..ratings.users() as u32 {
            let own = ratings.of_user(user);
            let kept = rng.below(own.len() as u32) as usize;
            for (place, rating) in own.iter().enumerate() {
                // Drawn for the kept one, too: one draw for each rating.
                let out = rng.chance(share) && place != kept;
                if out { &mut held_out } else { &mut seen }.push(*rating);
            }
        }
        Self { seen: Ratings::new(ratings.users(), ratings.items(), seen), held_out }
    }
}

/// So many slices, dealt in turn, as lines of a file that are split without regard to users. The published code
/// shards so.
#[must_use]
pub fn by_lines(ratings: &Ratings, slices: usize) -> Vec<Ratings> {
    let slice = |number: usize| {
        let own = ratings.all().iter().skip(number).step_by(slices.max(1)).copied().collect();
        Ratings::new(ratings.users(), ratings.items(), own)
    };
    (0..slices).map(slice).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ratings::Generated;

    #[test]
    fn a_split_loses_nothing_and_leaves_each_user_something() {
        let ratings = Generated { ratings: 20_000, ..Generated::default() }.make(3);
        let split = Split::of(&ratings, 0.1, 7);
        let share = split.held_out.len() as f64 / ratings.all().len() as f64;
        assert!((share - 0.1).abs() < 0.01, "{share}");
        let mut both = [split.seen.all(), &split.held_out[..]].concat();
        both.sort_unstable_by_key(|rating| (rating.user, rating.item));
        assert_eq!(both, ratings.all());
        let of = |ratings: &Ratings, user| ratings.of_user(user).len();
        let users = 0..ratings.users() as u32;
        assert!(users.into_iter().all(|user| of(&split.seen, user) > 0 || of(&ratings, user) == 0));
        assert_eq!(split, Split::of(&ratings, 0.1, 7));
        assert_ne!(split, Split::of(&ratings, 0.1, 8));
    }

    #[test]
    fn slices_by_lines_hold_everything_once() {
        let ratings = Generated { ratings: 2_000, ..Generated::default() }.make(3);
        let slices = by_lines(&ratings, 3);
        let mut all = slices.iter().flat_map(|slice| slice.all().to_vec()).collect::<Vec<_>>();
        all.sort_unstable_by_key(|rating| (rating.user, rating.item));
        assert_eq!(all, ratings.all());
    }
}
