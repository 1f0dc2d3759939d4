//! What is asked, and how it is answered.

use crate::factors::Fit;
use crate::similarity::Similarity;

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
