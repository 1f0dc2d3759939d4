//! The algorithm in its parts: what the mid-tier has, what a leaf has, and both as one.
//!
//! Leaves hold the users, each a part of them: their rows of factors and their ratings. The mid-tier holds the
//! row and the biases of the user of a query, asks each leaf for its best neighbours, and merges these. The best
//! of all are among the best of each leaf, so the prediction does not depend on the number of leaves, to the bit.

use crate::baseline::Biases;
use crate::factors::{Factors, Fit, FitError, row};
use crate::neighbours::{Nearest, Neighbour, merge, weighted_mean};
use crate::ratings::{Rating, Ratings};
use crate::similarity::Similarity;
use std::sync::Arc;

/// Which users may be neighbours, and what is averaged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Among {
    /// Users that have rated the item: what their rating exceeds their biases by. The mean of these is added to
    /// the biases of the query (Koren, TKDD 2010, §2.2).
    Raters,
    /// All other users: the product of their factors and the item's, as the library of the published code does
    /// ("to generate ratings for movies in a user's neighborhood", thesis §2.2.4).
    Everyone,
}

impl Among {
    /// Every one, with the word for it.
    pub const ALL: [(&str, Self); 2] = [("raters", Self::Raters), ("everyone", Self::Everyone)];

    /// See [`weighted_mean`]. What raters exceed their biases by is mostly chance where they are few.
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

/// What a leaf is asked: for the neighbours of a user with this prepared row.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Probe<'a> {
    /// The cell.
    pub query: Query,
    /// As [`Profiles::probe`] gives it.
    pub row: &'a [f32],
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
    /// Learns. `told` hears after each sweep how many are done.
    ///
    /// # Errors
    /// When the rule's settings find no factors, or none that its similarity tells apart.
    pub fn learn(
        ratings: Arc<Ratings>,
        rule: Rule,
        told: impl FnMut(usize),
    ) -> Result<Self, FitError> {
        rule.similarity.check(rule.fit.rank)?;
        let factors = Arc::new(rule.fit.run(&ratings, told)?);
        let biases = Arc::new(Biases::fit(&ratings));
        Ok(Self { ratings, rule, factors, biases })
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

    /// The mid-tier's part.
    #[must_use]
    pub fn profiles(&self) -> Profiles {
        let rows = prepared(self, 0..self.ratings.users() as u32);
        Profiles {
            rank: self.factors.rank(),
            rows,
            biases: self.biases.clone(),
            bounds: self.ratings.bounds(),
            among: self.rule.among,
            neighbours: self.rule.neighbours,
        }
    }

    /// The part of leaf `number` of so many: each `of`-th user.
    ///
    /// # Panics
    /// Without leaves.
    #[must_use]
    pub fn shard(&self, number: u32, of: u32) -> Shard {
        let own = || (number..self.ratings.users() as u32).step_by(of as usize);
        let value = |rating: &Rating| {
            (f64::from(rating.value) - self.biases.predict(rating.user, rating.item)) as f32
        };
        let mut by_item = vec![Vec::new(); self.ratings.items()];
        for (place, user) in (0..).zip(own()) {
            for rating in self.ratings.of_user(user) {
                by_item[rating.item as usize].push((place, value(rating)));
            }
        }
        Shard {
            rule: self.rule,
            rank: self.factors.rank(),
            rows: prepared(self, own()),
            users: own().collect(),
            by_item,
            factors: self.factors.clone(),
        }
    }

    /// All in one place.
    #[must_use]
    pub fn whole(&self) -> Whole {
        Whole { profiles: self.profiles(), shards: vec![self.shard(0, 1)] }
    }
}

fn prepared(model: &Model, users: impl Iterator<Item = u32>) -> Vec<f32> {
    let mut rows: Vec<f32> = users.flat_map(|user| model.factors.of_user(user)).copied().collect();
    rows.chunks_mut(model.factors.rank()).for_each(|row| model.rule.similarity.prepare(row));
    rows
}

/// The mid-tier's part.
#[derive(Clone, Debug)]
pub struct Profiles {
    rank: usize,
    rows: Vec<f32>,
    biases: Arc<Biases>,
    bounds: [f32; 2],
    among: Among,
    neighbours: usize,
}

impl Profiles {
    /// Users that it knows.
    #[must_use]
    pub fn users(&self) -> usize {
        self.rows.len() / self.rank
    }

    /// What to ask leaves; `None` for a user that is not known.
    #[must_use]
    pub fn probe(&self, query: Query) -> Option<Probe<'_>> {
        let is_known = (query.user as usize) < self.users();
        is_known.then(|| Probe { query, row: row(&self.rows, self.rank, query.user) })
    }

    /// The prediction, given each leaf's best neighbours. Without any it is that of the biases alone.
    #[must_use]
    pub fn predict(&self, query: Query, shards: impl IntoIterator<Item = Vec<Neighbour>>) -> f32 {
        let mean = weighted_mean(&merge(shards, self.neighbours), self.among.shrinkage());
        let biases = || self.biases.predict(query.user, query.item);
        let exact = match (self.among, mean) {
            (_, None) => biases(),
            (Among::Raters, Some(mean)) => biases() + mean,
            (Among::Everyone, Some(mean)) => mean,
        };
        (exact as f32).clamp(self.bounds[0], self.bounds[1])
    }
}

/// A leaf's part.
#[derive(Clone, Debug)]
pub struct Shard {
    rule: Rule,
    rank: usize,
    users: Vec<u32>,
    /// Prepared, in the order of `users`.
    rows: Vec<f32>,
    /// Of each item, the places in `users` of those that rated it, and what their rating exceeds their biases by.
    by_item: Vec<Vec<(u32, f32)>>,
    /// For [`Among::Everyone`].
    factors: Arc<Factors>,
}

impl Shard {
    /// Numbers in the row of a [`Probe`].
    #[must_use]
    pub const fn rank(&self) -> usize {
        self.rank
    }

    /// The best neighbours that it has; none for an item that it does not know.
    ///
    /// # Panics
    /// When the probe's row is not of this length: readers of bytes check that.
    #[must_use]
    pub fn nearest(&self, probe: Probe<'_>) -> Vec<Neighbour> {
        assert_eq!(
            probe.row.len(),
            self.rank,
            "rows have as many numbers as the model has factors"
        );
        let Query { user: asking, item } = probe.query;
        let mut nearest = Nearest::new(self.rule.neighbours);
        let mut offer = |place: u32, value: f32| {
            let user = self.users[place as usize];
            if user != asking {
                let own = row(&self.rows, self.rank, place);
                let similarity = self.rule.similarity.of(probe.row, own);
                nearest.offer(Neighbour { user, similarity, value });
            }
        };
        let Some(raters) = self.by_item.get(item as usize) else { return Vec::new() };
        match self.rule.among {
            Among::Raters => raters.iter().for_each(|&(place, value)| offer(place, value)),
            Among::Everyone => {
                for (place, &user) in (0..).zip(&self.users) {
                    offer(place, self.factors.product(user, item) as f32);
                }
            }
        }
        nearest.into_best()
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
