//! Ratings that nobody gave, for where no real ones are at hand: what results from them says so.
//!
//! A rating is a mean, what the user and the item add to it, the product of two hidden vectors, and chance. It is
//! rounded to half stars. Few items have most of the ratings (Zipf's law), and few users give most of them
//! (log-normal numbers). The figures follow MovieLens' small set of 2016: 100,004 ratings from 0.5 to 5 with
//! mean 3.54, of 671 users, of whom each rated 20 items or more, and 9,066 items. Pure: seed and number decide.

use super::{Rating, Ratings};
use rand_distr::{Distribution as _, LogNormal, Normal, Zipf};
use std::collections::BTreeSet;
use tailwater_core::Rng;

/// What to generate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Generated {
    /// About how many ratings; users and items are so many that their proportions are MovieLens'.
    pub ratings: usize,
    /// Length of the hidden vectors.
    pub concepts: usize,
    /// Standard deviation of what is chance in a rating.
    pub noise: f64,
}

impl Default for Generated {
    /// As many as the set that it resembles.
    fn default() -> Self {
        Self { ratings: 100_000, concepts: 8, noise: 0.8 }
    }
}

/// Of MovieLens' small set: 100,004 / 671.
const RATINGS_OF_A_USER: f64 = 149.0;
/// Likewise: 9,066 / 671.
const ITEMS_FOR_A_USER: f64 = 13.5;
/// No user has rated fewer, where there are as many items.
const RATINGS_MIN: usize = 20;
/// Spread of the logarithm of a user's number of ratings: the middle user has about 70 of a mean of 149.
const USERS_SPREAD: f64 = 1.2;
/// Exponent of the items' popularity.
const ZIPF: f64 = 0.8;
/// Mean, and the standard deviations of what users and items add to it, and of what their vectors do.
const MEAN: f64 = 3.54;
const OF_USERS: f64 = 0.4;
const OF_ITEMS: f64 = 0.4;
const OF_BOTH: f64 = 0.45;

impl Generated {
    /// The ratings: the same for the same seed.
    ///
    /// # Panics
    /// Without ratings or concepts.
    #[must_use]
    pub fn make(&self, seed: u64) -> Ratings {
        assert!(self.ratings > 0 && self.concepts > 0, "ratings and concepts are needed");
        let users = ((self.ratings as f64 / RATINGS_OF_A_USER).round() as usize).max(2);
        let items = ((users as f64 * ITEMS_FOR_A_USER).round() as usize).max(2);
        let root = Rng::from_seed(seed).split("ratings");
        let vectors = Vectors::draw(items, self.concepts, &mut root.split("items"));
        // The mean of a log-normal number is its median times exp(σ²/2).
        let median = RATINGS_OF_A_USER.ln() - USERS_SPREAD * USERS_SPREAD / 2.0;
        let counts = LogNormal::new(median, USERS_SPREAD).expect("finite");
        let popularity =
            Zipf::new(items as f64, ZIPF).expect("items, and an exponent from zero on");
        let chance = Normal::new(0.0, self.noise).expect("finite");
        let mut all = Vec::with_capacity(self.ratings * 2);
        for user in 0..users as u32 {
            let mut rng = Rng::from_seed(root.seed() ^ u64::from(user)).split("user");
            let own = Vectors::draw(1, self.concepts, &mut rng);
            let count = (counts.sample(&mut rng) as usize).max(RATINGS_MIN).min(items / 2);
            let mut rated = BTreeSet::new();
            while rated.len() < count {
                rated.insert(popularity.sample(&mut rng) as u32 - 1);
            }
            all.extend(rated.into_iter().map(|item| {
                let exact = MEAN + own.of(0, &vectors, item as usize) + chance.sample(&mut rng);
                let value = ((exact * 2.0).round() / 2.0).clamp(0.5, 5.0) as f32;
                Rating { user, item, value }
            }));
        }
        Ratings::new(users, items, all)
    }
}

/// What users, or items, are.
struct Vectors {
    concepts: usize,
    adds: Vec<f64>,
    coordinates: Vec<f64>,
}

impl Vectors {
    fn draw(count: usize, concepts: usize, rng: &mut Rng) -> Self {
        let normal = Normal::new(0.0, 1.0).expect("finite");
        let mut draw = |number: usize| (0..number).map(|_| normal.sample(rng)).collect::<Vec<_>>();
        Self { concepts, adds: draw(count), coordinates: draw(count * concepts) }
    }

    /// What user `own` and `item` together add to the mean.
    fn of(&self, own: usize, items: &Self, item: usize) -> f64 {
        let part = |of: &Self, at: usize| {
            let start = at * self.concepts;
            of.coordinates[start..start + self.concepts].to_vec()
        };
        let product: f64 = part(self, own).iter().zip(part(items, item)).map(|(a, b)| a * b).sum();
        let both = product / (self.concepts as f64).sqrt();
        OF_USERS * self.adds[own] + OF_ITEMS * items.adds[item] + OF_BOTH * both
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_resembles_the_set_that_it_is_made_after() {
        let ratings = Generated::default().make(1);
        let all = ratings.all();
        assert!((80_000..120_000).contains(&all.len()), "{}", all.len());
        assert_eq!((ratings.users(), ratings.items()), (671, 9_059));
        assert!((ratings.mean() - MEAN).abs() < 0.1, "{}", ratings.mean());
        assert_eq!(ratings.bounds(), [0.5, 5.0]);
        assert!((0..671).all(|user| ratings.of_user(user).len() >= RATINGS_MIN));
        let mut counts: Vec<_> = (0..9_059).map(|item| ratings.of_item(item).len()).collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let popular: usize = counts[..906].iter().sum();
        assert!(popular * 10 > all.len() * 4, "a tenth of the items has {popular}");
    }

    #[test]
    fn seed_and_number_decide() {
        let small = Generated { ratings: 3_000, ..Generated::default() };
        assert_eq!(small.make(1), small.make(1));
        assert_ne!(small.make(1), small.make(2));
    }
}
