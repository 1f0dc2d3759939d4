//! The mid-tier's part of a model: the users' rows, what users and items add, and the prediction.

use crate::baseline::Biases;
use crate::factors::row;
use crate::neighbours::{Neighbour, merge, weighted_mean};
use crate::rule::{Among, Query, Rule};
use std::sync::Arc;

/// What the mid-tier has.
#[derive(Clone, Debug)]
pub struct Profiles {
    rank: usize,
    rows: Vec<f32>,
    biases: Arc<Biases>,
    bounds: [f32; 2],
    among: Among,
    neighbours: usize,
}

/// What a leaf is asked: for the neighbours of a user with this prepared row.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Probe<'a> {
    /// The cell.
    pub query: Query,
    /// As [`Profiles::probe`] gives it.
    pub row: &'a [f32],
}

impl Profiles {
    /// Of prepared rows of all users, of what was learnt beside them, and of the ratings' smallest and largest value.
    #[must_use]
    pub fn new(rule: Rule, rows: Vec<f32>, biases: Arc<Biases>, bounds: [f32; 2]) -> Self {
        let Rule { fit, among, neighbours, .. } = rule;
        Self { rank: fit.rank, rows, biases, bounds, among, neighbours }
    }

    /// Its prepared rows, its biases and its bounds.
    #[must_use]
    pub fn parts(&self) -> (&[f32], &Biases, [f32; 2]) {
        (&self.rows, &self.biases, self.bounds)
    }

    /// Users that it knows.
    #[must_use]
    pub fn users(&self) -> usize {
        self.rows.len() / self.rank
    }

    /// Most neighbours of a prediction.
    #[must_use]
    pub const fn neighbours(&self) -> usize {
        self.neighbours
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
