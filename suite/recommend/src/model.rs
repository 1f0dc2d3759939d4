//! The algorithm in its parts: what the mid-tier has, what a leaf has, and both as one.
//!
//! Leaves hold the users, each a part of them: their rows of factors and their ratings. The mid-tier holds the
//! row and the biases of the user of a query, asks each leaf for its best neighbours, and merges these. The best
//! of all are among the best of each leaf, so the prediction does not depend on the number of leaves, to the bit.

use crate::baseline::Biases;
use crate::factors::{Factors, Fit, FitError};
use crate::profiles::Profiles;
use crate::ratings::Ratings;
use crate::shard::Shard;
use crate::similarity::Similarity;
use std::sync::Arc;

/// Which users may be neighbours, and what is averaged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Among {
    /// Users that have rated the item: what their rating exceeds their biases by. The mean of these is added to
    /// the biases of the query (Koren, TKDD 2010, §2.2).
    Raters,
    /// All other users, by the product of their factors and the item's. The library of the published code does so
    /// ("to generate ratings for movies in a user's neighborhood", thesis §2.2.4).
    Everyone,
}

impl Among {
    /// Every one, with the word for it.
    pub const ALL: [(&str, Self); 2] = [("raters", Self::Raters), ("everyone", Self::Everyone)];

    /// See [`weighted_mean`](crate::neighbours::weighted_mean). What raters exceed their biases by is mostly chance where they are few.
    #[must_use]
    pub const fn shrinkage(self) -> f64 {
        match self {
            // By trial on generated ratings; docs/recommend.md has the figures.
            Self::Raters => 5.0,
            Self::Everyone => 0.0,
        }
    }
}

/// How a rating is predicted.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rule {
    /// How factors are found.
    pub fit: Fit,
    /// What makes users alike.
    pub similarity: Similarity,
    /// Which of them may be neighbours.
    pub among: Among,
    /// How many neighbours at most, 1 to [`Rule::NEIGHBOURS_MAX`]. The published code takes 5.
    pub neighbours: usize,
}

impl Rule {
    /// Most neighbours: an answer of a leaf has 12 bytes for each.
    pub const NEIGHBOURS_MAX: usize = 1_000;
}

impl Default for Rule {
    fn default() -> Self {
        let (similarity, among) = (Similarity::Pearson, Among::Raters);
        Self { fit: Fit::default(), similarity, among, neighbours: 30 }
    }
}

/// A cell whose rating is asked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Query {
    /// Whose.
    pub user: u32,
    /// Of what.
    pub item: u32,
}

/// What the ratings taught, before it is divided.
#[derive(Clone, Debug)]
pub struct Model {
    ratings: Arc<Ratings>,
    rule: Rule,
    factors: Arc<Factors>,
    biases: Arc<Biases>,
}

impl Model {
    /// Learns. `told` hears now and then how many sweeps are done; its error ends the learning.
    ///
    /// # Errors
    /// When the rule's settings find no factors, or none that its similarity tells apart; what `told` returns.
    pub fn learn(
        ratings: Arc<Ratings>,
        rule: Rule,
        told: impl FnMut(usize) -> Result<(), String>,
    ) -> Result<Self, FitError> {
        rule.similarity.check(rule.fit.rank)?;
        let factors = Arc::new(rule.fit.run(&ratings, told)?);
        let biases = Arc::new(Biases::fit(&ratings));
        Ok(Self { ratings, rule, factors, biases })
    }

    /// What was learnt before; `None` where the parts are not of one matrix.
    #[must_use]
    pub fn of_parts(
        ratings: Arc<Ratings>,
        rule: Rule,
        factors: Factors,
        biases: Biases,
    ) -> Option<Self> {
        let (users, items) = (ratings.users(), ratings.items());
        let rows = factors.parts();
        let (_, of_users, of_items) = biases.parts();
        let fits = (rows.0.len(), rows.1.len()) == (users * factors.rank(), items * factors.rank())
            && (of_users.len(), of_items.len()) == (users, items);
        let (factors, biases) = (Arc::new(factors), Arc::new(biases));
        fits.then_some(Self { ratings, rule, factors, biases })
    }

    /// The same with another rule for neighbours; how factors were found stays.
    ///
    /// # Panics
    /// When the similarity does not tell rows of this rank apart: a mistake of the program.
    #[must_use]
    pub fn with(&self, similarity: Similarity, among: Among, neighbours: usize) -> Self {
        assert_eq!(similarity.check(self.factors.rank()), Ok(()));
        let rule = Rule { similarity, among, neighbours, ..self.rule };
        Self { rule, ..self.clone() }
    }

    /// The factors.
    #[must_use]
    pub fn factors(&self) -> &Factors {
        &self.factors
    }

    /// The biases.
    #[must_use]
    pub fn biases(&self) -> &Biases {
        &self.biases
    }

    /// What it learnt from.
    #[must_use]
    pub fn ratings(&self) -> &Ratings {
        &self.ratings
    }

    /// How it predicts.
    #[must_use]
    pub const fn rule(&self) -> Rule {
        self.rule
    }

    /// The mid-tier's part.
    #[must_use]
    pub fn profiles(&self) -> Profiles {
        let rows = self.prepared(0..self.ratings.users() as u32);
        Profiles::new(self.rule, rows, self.biases.clone(), self.ratings.bounds())
    }

    /// The part of leaf `number` of so many: each `of`-th user.
    ///
    /// # Panics
    /// Without leaves.
    #[must_use]
    pub fn shard(&self, number: u32, of: u32) -> Shard {
        Shard::of(self, number, of)
    }

    /// The rows of these users as [`Similarity::of`] takes them.
    pub(crate) fn prepared(&self, users: impl Iterator<Item = u32>) -> Vec<f32> {
        let mut rows: Vec<f32> =
            users.flat_map(|user| self.factors.of_user(user)).copied().collect();
        rows.chunks_mut(self.factors.rank()).for_each(|row| self.rule.similarity.prepare(row));
        rows
    }

    /// All in one place.
    #[must_use]
    pub fn whole(&self) -> Whole {
        Whole { profiles: self.profiles(), shards: vec![self.shard(0, 1)] }
    }
}

/// Both tiers in one place, of one shard or of several.
#[derive(Clone, Debug)]
pub struct Whole {
    /// The mid-tier's part.
    pub profiles: Profiles,
    /// The leaves'.
    pub shards: Vec<Shard>,
}

impl Whole {
    /// The prediction; `None` for a user that is not known.
    #[must_use]
    pub fn predict(&self, query: Query) -> Option<f32> {
        let probe = self.profiles.probe(query)?;
        let found = self.shards.iter().map(|shard| shard.nearest(probe));
        Some(self.profiles.predict(query, found))
    }
}
