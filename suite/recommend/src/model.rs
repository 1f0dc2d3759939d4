//! The algorithm in its parts: what the mid-tier has, what a leaf has, and both as one.
//!
//! Leaves hold the users, each a part of them: their rows of factors and their ratings. The mid-tier holds the
//! row and the biases of the user of a query, asks each leaf for its best neighbours, and merges these. The best
//! of all are among the best of each leaf, so the prediction does not depend on the number of leaves, to the bit.

use crate::baseline::Biases;
use crate::factors::{Factors, FitError};
use crate::profiles::Profiles;
use crate::ratings::Ratings;
use crate::shard::Shard;
use crate::similarity::Similarity;
use std::sync::Arc;

pub use crate::rule::{Among, Query, Rule};

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
        let own = (number..self.ratings.users() as u32).step_by(of as usize);
        let rows = self.prepared(own);
        Shard::of(self.rule, (number, of), &self.ratings, &self.biases, &self.factors, rows)
    }

    /// The rows of these users as [`Similarity::of`] takes them.
    fn prepared(&self, users: impl Iterator<Item = u32>) -> Vec<f32> {
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
