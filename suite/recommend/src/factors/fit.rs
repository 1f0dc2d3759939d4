//! Finds the factors by coordinate descent over the known cells only.
//!
//! Minimises Σ (v − w·h)² over known cells plus λ·Σ |w − c|² + λ·Σ |h − c|², with no coordinate below zero. One
//! coordinate at a time has a closed form: the best value for all others as they are, or zero. The source is Yu et
//! al., "Scalable coordinate descent approaches to parallel matrix factorization for recommender systems", ICDM 2012,
//! §III; here with the bound at zero. Unknown cells take no part: taken for zeros, as libraries for dense matrices
//! take them, they would pull all predictions towards zero.
//!
//! The usual cost of large factors, c = 0, pulls predictions of rare users and items towards zero, too. Here c is what
//! makes every product the mean of all ratings: of what little is known, the mean is predicted.

use super::Factors;
use crate::ratings::Ratings;
use std::fmt;
use tailwater_core::Rng;

/// How factors are found.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fit {
    /// Numbers for each user and each item, 1 to [`Fit::RANK_MAX`]. The published code uses 5.
    pub rank: usize,
    /// How often all coordinates have their turn, at least once.
    pub sweeps: usize,
    /// How strongly factors are drawn to those that predict the mean: as by so many ratings that are the mean. Above
    /// zero. Smaller follows the ratings more closely, and their chance.
    pub regularisation: f32,
    /// Decides where it begins.
    pub seed: u64,
}

/// Every so many ratings: some milliseconds of work.
const TOLD_EVERY: usize = 1 << 16;

impl Default for Fit {
    /// See `docs/recommend.md` for how these were chosen.
    fn default() -> Self {
        Self { rank: 16, sweeps: 20, regularisation: 50.0, seed: 1 }
    }
}

/// Why there are no factors.
#[derive(Clone, PartialEq, Debug)]
pub enum FitError {
    /// The rank.
    Rank(usize),
    /// No sweep at all.
    Sweeps,
    /// The regularisation.
    Regularisation(f32),
    /// The similarity does not tell rows of so many numbers apart.
    Similarity {
        /// The rank.
        rank: usize,
        /// The least at which it does not.
        least: usize,
    },
    /// The receiver of the sweeps had enough, and said this.
    Stopped(String),
}

impl fmt::Display for FitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rank(found) => {
                write!(f, "the rank is {found}; a number from 1 to {} is needed", Fit::RANK_MAX)
            }
            Self::Sweeps => f.write_str("there are 0 sweeps; 1 or more are needed"),
            Self::Regularisation(found) => {
                write!(f, "the regularisation is {found}; a number above 0 is needed")
            }
            Self::Similarity { rank, least } => write!(
                f,
                "the rank is {rank}, too small for the similarity to tell users apart; {least} or more is needed, or the \
                 similarity euclid"
            ),
            Self::Stopped(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for FitError {}

impl Fit {
    /// The largest rank: 512 bytes for each user and item.
    pub const RANK_MAX: usize = 128;

    /// The factors. `told` hears now and then how many sweeps are done; its error ends the search.
    ///
    /// # Errors
    /// When the settings cannot find any; what `told` returns.
    pub fn run(
        &self,
        ratings: &Ratings,
        mut told: impl FnMut(usize) -> Result<(), String>,
    ) -> Result<Factors, FitError> {
        self.check()?;
        let mut descent = Descent::begin(ratings, self);
        for sweep in 0..self.sweeps {
            descent.sweep(&mut || told(sweep).map_err(FitError::Stopped))?;
        }
        told(self.sweeps).map_err(FitError::Stopped)?;
        Ok(descent.factors)
    }

    fn check(&self) -> Result<(), FitError> {
        if !(1..=Self::RANK_MAX).contains(&self.rank) {
            return Err(FitError::Rank(self.rank));
        }
        if self.sweeps == 0 {
            return Err(FitError::Sweeps);
        }
        let is_positive = self.regularisation.is_finite() && self.regularisation > 0.0;
        if is_positive { Ok(()) } else { Err(FitError::Regularisation(self.regularisation)) }
    }
}

struct Descent<'a> {
    ratings: &'a Ratings,
    factors: Factors,
    /// What each rating exceeds its product by.
    errors: Vec<f32>,
    prior: Prior,
}

/// What factors are where nothing is known.
#[derive(Clone, Copy)]
struct Prior {
    /// c: all coordinates of all rows.
    even: f64,
    /// λ.
    weight: f64,
}

impl Prior {
    /// A rating adds the square of the other row's coordinate to the weight of the ratings: c² where it is even.
    fn of(ratings: &Ratings, fit: &Fit) -> Self {
        let square = ratings.mean() / fit.rank as f64;
        Self { even: square.sqrt(), weight: f64::from(fit.regularisation) * square }
    }
}

impl<'a> Descent<'a> {
    /// All factors alike but for chance, which breaks ties; products are about the mean.
    fn begin(ratings: &'a Ratings, fit: &Fit) -> Self {
        let mut rng = Rng::from_seed(fit.seed).split("factors");
        let prior = Prior::of(ratings, fit);
        let mut draw = |rows: usize| -> Vec<f32> {
            (0..rows * fit.rank).map(|_| (prior.even * (0.5 + rng.unit())) as f32).collect()
        };
        let factors =
            Factors { rank: fit.rank, users: draw(ratings.users()), items: draw(ratings.items()) };
        let error = |rating: &crate::ratings::Rating| {
            (f64::from(rating.value) - factors.product(rating.user, rating.item)) as f32
        };
        let errors = ratings.all().iter().map(error).collect();
        Self { ratings, factors, errors, prior }
    }

    /// `look` is called every [`TOLD_EVERY`] ratings; its error ends the sweep.
    fn sweep(&mut self, look: &mut dyn FnMut() -> Result<(), FitError>) -> Result<(), FitError> {
        let (ratings, rank) = (self.ratings, self.factors.rank);
        let Factors { users, items, .. } = &mut self.factors;
        let all = ratings.all();
        let mut left = 0;
        let mut count = |ratings: usize| -> Result<(), FitError> {
            if ratings < left {
                left -= ratings;
                return Ok(());
            }
            left = TOLD_EVERY;
            look()
        };
        for user in 0..ratings.users() as u32 {
            let positions = ratings.row(user);
            count(positions.len())?;
            let others = positions.clone().map(|at| (at, all[at].item));
            let own = &mut users[user as usize * rank..][..rank];
            descend(own, items, others, &mut self.errors, self.prior);
        }
        for item in 0..ratings.items() as u32 {
            let positions = ratings.column(item).iter().map(|&at| at as usize);
            count(positions.len())?;
            let others = positions.map(|at| (at, all[at].user));
            let own = &mut items[item as usize * rank..][..rank];
            descend(own, users, others, &mut self.errors, self.prior);
        }
        Ok(())
    }
}

/// Improves the coordinates of one row, given the rows of the others that it has ratings with, each with the
/// rating's position. A row without ratings becomes the prior's.
fn descend(
    own: &mut [f32],
    rows: &[f32],
    others: impl ExactSizeIterator<Item = (usize, u32)> + Clone,
    errors: &mut [f32],
    prior: Prior,
) {
    let rank = own.len();
    for (place, coordinate) in own.iter_mut().enumerate() {
        let (mut pull, mut weight) = (prior.weight * prior.even, prior.weight);
        let before = f64::from(*coordinate);
        for (at, other) in others.clone() {
            let theirs = f64::from(rows[other as usize * rank + place]);
            pull += (f64::from(errors[at]) + before * theirs) * theirs;
            weight += theirs * theirs;
        }
        // Ratings that are all zero have neither weight nor factors.
        let best = if weight > 0.0 { (pull / weight).max(0.0) as f32 } else { 0.0 };
        let step = f64::from(best) - before;
        *coordinate = best;
        for (at, other) in others.clone() {
            let theirs = f64::from(rows[other as usize * rank + place]);
            errors[at] = (f64::from(errors[at]) - step * theirs) as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ratings::{Generated, Rating};

    fn objective(ratings: &Ratings, factors: &Factors, fit: &Fit) -> f64 {
        let prior = Prior::of(ratings, fit);
        let error = |it: &Rating| f64::from(it.value) - factors.product(it.user, it.item);
        let errors: f64 = ratings.all().iter().map(|it| error(it).powi(2)).sum();
        let rows = factors.users.iter().chain(&factors.items);
        errors + prior.weight * rows.map(|it| (f64::from(*it) - prior.even).powi(2)).sum::<f64>()
    }

    #[test]
    fn each_sweep_lowers_the_objective_and_nothing_becomes_negative() {
        let ratings = Generated { ratings: 3_000, ..Generated::default() }.make(2);
        let mut last = f64::INFINITY;
        for sweeps in 1..12 {
            let fit = Fit { sweeps, ..Fit::default() };
            let factors = fit.run(&ratings, |_| Ok(())).expect("sound");
            let now = objective(&ratings, &factors, &fit);
            assert!(now <= last * (1.0 + 1e-6), "sweep {sweeps}: {now} after {last}");
            assert!(factors.users.iter().chain(&factors.items).all(|factor| *factor >= 0.0));
            last = now;
        }
    }

    /// Of a matrix that is a product, a part of the cells suffices for the others.
    #[test]
    fn it_recovers_a_product_from_some_of_its_cells() {
        let (users, items, rank) = (60, 50, 2);
        let mut rng = Rng::from_seed(5);
        let mut draw = |rows: usize| (0..rows * rank).map(|_| rng.unit() as f32 + 0.1).collect();
        let truth = Factors { rank, users: draw(users), items: draw(items) };
        let cells =
            || (0..users as u32).flat_map(|user| (0..items as u32).map(move |it| (user, it)));
        let is_known = |(user, item): &(u32, u32)| (user * 7 + item * 3) % 5 > 1;
        let of = |(user, item)| Rating { user, item, value: truth.product(user, item) as f32 };
        let known = Ratings::new(users, items, cells().filter(is_known).map(of).collect());
        let fit = Fit { rank, sweeps: 1_000, regularisation: 1e-4, ..Fit::default() };
        let found = fit.run(&known, |_| Ok(())).expect("sound");
        let worst = cells()
            .map(|(user, item)| (found.product(user, item) - truth.product(user, item)).abs())
            .fold(0.0, f64::max);
        assert!(worst < 0.1, "{worst}");
    }

    #[test]
    fn the_seed_decides_and_settings_are_checked() {
        let ratings = Generated { ratings: 1_000, ..Generated::default() }.make(2);
        let run = |fit: Fit| fit.run(&ratings, |_| Ok(()));
        let small = Fit { sweeps: 2, ..Fit::default() };
        assert_eq!(run(small), run(small));
        assert_ne!(run(small), run(Fit { seed: 2, ..small }));
        let wrong = [
            (Fit { rank: 0, ..small }, "the rank is 0; a number from 1 to 128 is needed"),
            (Fit { rank: 129, ..small }, "the rank is 129; a number from 1 to 128 is needed"),
            (Fit { sweeps: 0, ..small }, "there are 0 sweeps; 1 or more are needed"),
            (
                Fit { regularisation: 0.0, ..small },
                "the regularisation is 0; a number above 0 is needed",
            ),
        ];
        for (fit, error) in wrong {
            assert_eq!(run(fit).expect_err(error).to_string(), error);
        }
        let enough = |done| if done < 1 { Ok(()) } else { Err("enough".to_owned()) };
        assert_eq!(small.run(&ratings, enough), Err(FitError::Stopped("enough".into())));
    }
}
