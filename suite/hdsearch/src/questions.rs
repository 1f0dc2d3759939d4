//! What is asked, and what must be answered: prepared once, before anything is measured.

use crate::check::{Expected, Wrong};
use crate::nearest::Found;
use crate::oracle::{self, LookUp};
use crate::parts::each;
use crate::quality::{Quality, recall};
use crate::vectors::Set;
use crate::wire::{Answer, Query};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;
use tailwater_kernels::{Kernels, Level};

/// After so many answers a caller hears how far it is.
const TOLD_EVERY: usize = 64;

/// The true neighbours of every query of a set, by looking at every point: as many as are asked for here, or all. All
/// cores are at work. `tell` hears how many queries are done.
///
/// # Errors
/// What `tell` returns, which ends the work.
pub fn truth<E>(
    set: &Set,
    neighbours: usize,
    tell: impl Fn(usize) -> Result<(), E>,
) -> Result<Vec<Vec<Found>>, E> {
    let (points, queries) = (set.points.rows(), set.queries.rows());
    let next = AtomicUsize::new(0);
    let work = |finds: Sender<(usize, Vec<Found>)>| {
        loop {
            // Relaxed: each number is taken once, and what was found goes through the channel.
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= queries.count() {
                return;
            }
            let found = oracle::nearest_of_all(points, queries.row(number), neighbours);
            // Nothing is received any more where the work was ended.
            if finds.send((number, found)).is_err() {
                return;
            }
        }
    };
    tell(0)?;
    let threads = thread::available_parallelism().map_or(1, usize::from).min(queries.count());
    thread::scope(|scope| {
        let (finds, all) = mpsc::channel();
        for _ in 0..threads {
            let (work, finds) = (&work, finds.clone());
            scope.spawn(move || work(finds));
        }
        drop(finds);
        let mut truth = vec![Vec::new(); queries.count()];
        for (done, (number, found)) in (1..).zip(all) {
            truth[number] = found;
            tell(done)?;
        }
        Ok(truth)
    })
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
    /// nor the mid-tier that is asked later has a part in it. All cores are at work. `tell` hears how many are done.
    ///
    /// # Errors
    /// What `tell` returns.
    pub fn prepare<E>(
        set: &'a Set,
        look_up: &dyn LookUp,
        neighbours: u16,
        tell: impl Fn(usize) -> Result<(), E>,
    ) -> Result<Self, E> {
        let (points, queries) = (set.points.rows(), set.queries.rows());
        let expect = |number: usize| {
            let row = queries.row(number);
            let candidates = look_up.candidates(row);
            let found =
                oracle::nearest_of(points, row, candidates.iter().copied(), neighbours.into());
            Expected { candidates: candidates.len() as u32, found }
        };
        let mut expected = Vec::with_capacity(queries.count());
        for first in (0..queries.count()).step_by(TOLD_EVERY) {
            tell(first)?;
            let count = TOLD_EVERY.min(queries.count() - first);
            expected.extend(each(count, |at| expect(first + at)));
        }
        Ok(Self { set, neighbours, expected })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::Names;
    use std::cell::Cell;
    use tailwater_core::Rng;
    use tailwater_kernels::Table;

    /// Small whole numbers, so that many points are equally far.
    fn set(points: usize, queries: usize) -> Set {
        let mut rng = Rng::from_seed(3).split("truth");
        let mut draw = |count: usize| {
            let mut table = Table::new(3);
            (0..count).for_each(|_| table.push(&[(); 3].map(|()| rng.below(4) as f32)));
            table
        };
        Set { points: draw(points), queries: draw(queries), names: Names::default() }
    }

    #[test]
    fn the_truth_is_that_of_scalar_code_and_a_full_sort() {
        for (points, queries) in [(10_007, 37), (5, 1), (4_096, 16)] {
            let set = set(points, queries);
            let truth = truth(&set, 100, |_| Ok::<_, ()>(())).expect("found");
            let plain =
                set.queries.rows().all().map(|query| {
                    oracle::nearest_of(set.points.rows(), query, 0..points as u32, 100)
                });
            assert!(plain.eq(truth), "{queries} queries among {points} points");
        }
    }

    /// More queries than are answered between two words of how many.
    #[test]
    fn each_query_has_its_own_answer() {
        struct All;
        impl LookUp for All {
            fn candidates(&self, _query: &[f32]) -> Vec<u32> {
                (0..300).collect()
            }
        }
        let set = set(300, 2 * TOLD_EVERY + 7);
        let questions = Questions::prepare(&set, &All, 5, |_| Ok::<_, ()>(())).expect("found");
        let truth = truth(&set, 5, |_| Ok::<_, ()>(())).expect("found");
        assert_eq!(questions.count(), 2 * TOLD_EVERY + 7);
        for (number, found) in truth.iter().enumerate() {
            assert_eq!(&questions.expected(number).found, found, "query {number}");
        }
        let stop = |done| if done > 0 { Err(done) } else { Ok(()) };
        let stopped = Questions::prepare(&set, &All, 5, stop);
        assert!(stopped.is_err_and(|done| done == TOLD_EVERY));
    }

    #[test]
    fn what_is_done_is_told_and_may_be_stopped() {
        let set = set(500, 100);
        let told = Cell::new(0);
        let all = truth(&set, 3, |done| {
            assert!(done >= told.replace(done), "it goes forward");
            Ok::<_, ()>(())
        });
        assert_eq!((all.expect("found").len(), told.get()), (100, 100));
        let stop = |done| if done < 32 { Ok(()) } else { Err(done) };
        assert!(truth(&set, 3, stop).is_err_and(|done| done >= 32));
    }
}
