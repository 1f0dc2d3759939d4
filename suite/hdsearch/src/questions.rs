//! What is asked, and what must be answered: prepared once, before anything is measured.

use crate::check::{Expected, Wrong};
use crate::nearest::Found;
use crate::oracle::{self, LookUp};
use crate::quality::{Quality, recall};
use crate::vectors::Set;
use crate::wire::{Answer, Query};
use tailwater_kernels::{Kernels, Level};

/// The true neighbours of every query of a set, by looking at every point: as many as are asked for here, or all.
/// `tell` hears how many queries are done.
///
/// # Errors
/// What `tell` returns.
pub fn truth<E>(
    set: &Set,
    neighbours: usize,
    tell: impl Fn(usize) -> Result<(), E>,
) -> Result<Vec<Vec<Found>>, E> {
    let each = set.queries.rows().all().enumerate().map(|(number, query)| {
        tell(number)?;
        Ok(oracle::nearest_of_all(set.points.rows(), query, neighbours))
    });
    each.collect()
}

/// The queries of a set with the answers that they must get by one look-up.
#[derive(Debug)]
pub struct Questions<'a> {
    set: &'a Set,
    neighbours: u16,
    expected: Vec<Expected>,
}

impl<'a> Questions<'a> {
    /// Looks every query's candidates up by definition, and finds the nearest of them by plain code. Neither the index
    /// nor the mid-tier that is asked later has a part in it. `tell` hears how many are done.
    ///
    /// # Errors
    /// What `tell` returns.
    pub fn prepare<E>(
        set: &'a Set,
        look_up: &dyn LookUp,
        neighbours: u16,
        tell: impl Fn(usize) -> Result<(), E>,
    ) -> Result<Self, E> {
        let each = set.queries.rows().all().enumerate().map(|(number, row)| {
            tell(number)?;
            let candidates = look_up.candidates(row);
            let found = oracle::nearest_of(
                set.points.rows(),
                row,
                candidates.iter().copied(),
                neighbours.into(),
            );
            Ok(Expected { candidates: candidates.len() as u32, found })
        });
        Ok(Self { set, neighbours, expected: each.collect::<Result<_, E>>()? })
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.expected.len()
    }

    /// What is asked.
    #[must_use]
    pub fn query(&self, number: usize) -> Query {
        let vector = self.set.queries.rows().vector(number).to_vec();
        Query { neighbours: self.neighbours, vector }
    }

    /// What must be answered.
    #[must_use]
    pub fn expected(&self, number: usize) -> &Expected {
        &self.expected[number]
    }

    /// What is wrong with an answer to a question.
    ///
    /// # Errors
    /// When it is wrong.
    pub fn check(&self, number: usize, answer: &Answer) -> Result<(), Wrong> {
        let (points, query) = (self.set.points.rows(), self.set.queries.rows().row(number));
        let scalar = Kernels::up_to(Level::Scalar);
        self.expected[number].check(answer, |point| {
            let is_there = (point as usize) < points.count();
            is_there.then(|| scalar.squared_distance(query, points.row(point as usize)))
        })
    }

    /// Of the points that are wanted, and that are truly nearest, the share that is found: the mean over all queries, of
    /// ten neighbours at most.
    #[must_use]
    pub fn recall(&self, truth: &[Vec<Found>]) -> f64 {
        let wanted = usize::from(self.neighbours).min(10);
        let each = self.expected.iter().zip(truth);
        let sum: f64 = each.map(|(expected, truth)| recall(truth, &expected.found, wanted)).sum();
        sum / self.expected.len().max(1) as f64
    }

    /// How good each of the answers is, against the truth.
    #[must_use]
    pub fn qualities(&self, truth: &[Vec<Found>]) -> Vec<Quality> {
        let each = self.expected.iter().zip(truth);
        each.map(|(expected, truth)| {
            Quality::of(self.set.points.rows(), truth, &expected.found, expected.candidates)
        })
        .collect()
    }
}
