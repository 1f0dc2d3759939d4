//! A leaf: the vectors of its points, and their distances from a query (thesis §2.2.1).

use crate::nearest::nearest_of_places;
use crate::placement::{Order, Placement};
use crate::wire::{self, LeafAnswer, WireError};
use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;
use tailwater_kernels::{Kernels, NoSuchRow, Rows, Table};
use tailwater_rt::{Reply, Request, Router};

/// The status of an answer to what is no request; the answer says why.
pub const BAD_REQUEST: u16 = 400;

/// The vectors of one leaf.
#[derive(Debug)]
pub struct Leaf {
    kernels: Kernels,
    points: Table,
    /// Of each: its number in the set.
    numbers: Vec<u32>,
}

/// Why a request has no answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LeafError {
    /// It is none.
    Wire(WireError),
    /// It names a point that is not here.
    Point(NoSuchRow),
}

/// What a thread uses again for the next request.
#[derive(Default)]
struct Scratch {
    candidates: Vec<u32>,
    distances: Vec<f32>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl Leaf {
    /// Leaf number `leaf`, which takes its points of all.
    #[must_use]
    pub fn new(points: Rows<'_>, order: &Order, placement: Placement, leaf: usize) -> Self {
        let numbers: Vec<u32> = order.of_leaf(placement, leaf).collect();
        Self::of(numbers, |point| points.vector(point as usize), points.dimensions())
    }

    /// Of points by their numbers in the set, in the order in which they are to lie here; `vector` has each.
    #[must_use]
    pub fn of<'a>(numbers: Vec<u32>, vector: impl Fn(u32) -> &'a [f32], dimensions: usize) -> Self {
        let mut points = Table::with_capacity(dimensions, numbers.len());
        numbers.iter().for_each(|&point| points.push(vector(point)));
        Self::of_rows(numbers, points)
    }

    /// Of rows that lie as they are to lie here: each is the point of the number at its place.
    pub(crate) fn of_rows(numbers: Vec<u32>, points: Table) -> Self {
        Self { kernels: Kernels::best(), points, numbers }
    }

    /// Its points.
    #[must_use]
    pub fn points(&self) -> Rows<'_> {
        self.points.rows()
    }

    /// The same with kernels of other instructions.
    #[must_use]
    pub const fn with(mut self, kernels: Kernels) -> Self {
        self.kernels = kernels;
        self
    }

    /// The nearest of some of its points by their numbers here, the nearest first, and how many distances were computed
    /// for them. A point that is named twice is found twice.
    ///
    /// # Errors
    /// When there is no such point.
    ///
    /// # Panics
    /// When the query has other dimensions: a mistake of the program.
    pub fn nearest(
        &self,
        query: &[f32],
        candidates: &[u32],
        wanted: usize,
        distances: &mut Vec<f32>,
    ) -> Result<LeafAnswer, NoSuchRow> {
        let points = self.points.rows();
        distances.clear();
        // Of all in one call: the rows of the next range are asked for while those of one are computed.
        self.kernels.distances_of(&points.padded(query), points, candidates, distances)?;
        let measured = candidates.iter().copied().zip(distances.iter().copied());
        let found = nearest_of_places(measured, wanted, |place| self.numbers[place as usize]);
        Ok(LeafAnswer { candidates: distances.len() as u32, found })
    }

    /// Answers the bytes of a request.
    ///
    /// # Errors
    /// When it is none, or names a point that is not here.
    pub fn answer(&self, request: &[u8]) -> Result<Vec<u8>, LeafError> {
        SCRATCH.with_borrow_mut(|Scratch { candidates, distances }| {
            let points = self.points.rows();
            let of = (points.count(), points.dimensions());
            let query =
                wire::read_leaf_request(request, of, candidates).map_err(LeafError::Wire)?;
            let found = self.nearest(&query.vector, candidates, query.neighbours.into(), distances);
            Ok(wire::leaf_answer(&found.map_err(LeafError::Point)?))
        })
    }

    /// Its method.
    #[must_use]
    pub fn router(self: Arc<Self>) -> Router {
        Router::new().route(wire::DISTANCES.0, move |request: Request| {
            let reply = match self.answer(&request.payload) {
                Ok(answer) => Reply::ok(answer),
                Err(error) => Reply::failure(BAD_REQUEST, &error.to_string()),
            };
            std::future::ready(reply)
        })
    }
}

impl fmt::Display for LeafError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wire(error) => error.fmt(f),
            Self::Point(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for LeafError {}
