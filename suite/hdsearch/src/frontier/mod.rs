//! What settings of an index are worth: how good its answers are, and what they cost.
//!
//! Each point of a frontier is measured twice: by the processor's time of one thread that is mid-tier and all leaves in turn
//! ([`Point::compute_us`]), and over sockets, one query at a time ([`Point::latency_us`]). Both times every answer is checked.

mod goals;
mod grid;
mod tiers;
mod worked;

pub use goals::{GOALS, Goal};
pub use grid::{Build, Built, Grid, Tried};
pub use tiers::{Tiers, TiersError};
pub use worked::Worked;

use crate::check::Wrong;
use crate::index::{Candidates, Index};
use crate::leaf::Leaf;
use crate::midtier::{MidTier, NotALeafsAnswer};
use crate::nearest::Found;
use crate::placement::{Order, Placement};
use crate::quality::Quality;
use crate::questions::Questions;
use crate::vectors::{Set, Shape};
use crate::wire;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// All points of a set, as it is written to a file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Frontier {
    /// Which set, how it was made, and what it stands for.
    pub set: String,
    /// How many points it has.
    pub points: usize,
    /// Of a vector.
    pub dimensions: usize,
    /// How hard it is to search.
    pub shape: Option<Shape>,
    /// How many queries were asked.
    pub queries: usize,
    /// How many neighbours of each.
    pub neighbours: u16,
    /// On how many leaves the points lie.
    pub leaves: usize,
    /// What it was measured on and with.
    pub machine: String,
    /// What else a reader must know, such as that other programs used the machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// The median of the processor's time to look at every point, by one thread in one process.
    pub all_us: f64,
    /// What was measured.
    pub measured: Vec<Point>,
}

/// One index with one choice of settings.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Point {
    /// `lsh` or `ivf`.
    pub index: String,
    /// Its settings in words.
    pub settings: String,
    /// The mean over all queries.
    pub quality: Quality,
    /// The share of the queries whose cosine is below the thesis' minimum; none in files of before it was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inaccurate: Option<f64>,
    /// Bytes of the index in the mid-tier.
    pub index_bytes: usize,
    /// The processor's time of a query in one process and one thread: look-up, distances of all leaves one after another, merge.
    /// Where leaves work at the same time a query over sockets may take less.
    pub compute_us: Times,
    /// Of a query over sockets, from the client and back, one at a time.
    pub latency_us: Times,
}

/// Quantiles of times in microseconds.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Times {
    /// The median.
    pub p50: f64,
    /// Of a hundred, one is longer.
    pub p99: f64,
}

/// Why there is no point.
#[derive(Debug)]
pub enum MeasureError {
    /// The question of this number was answered wrongly.
    Wrong(usize, Wrong),
    /// A leaf answered something else.
    Leaf(NotALeafsAnswer),
    /// It was not answered.
    Tiers(TiersError),
}

/// A set with what is true of it, and how leaves share it.
#[derive(Debug)]
pub struct Bench<'a> {
    /// Points and queries.
    pub set: &'a Set,
    /// The true neighbours of each query.
    pub truth: &'a [Vec<Found>],
    /// How many are wanted.
    pub neighbours: u16,
    /// On how many leaves points lie.
    pub placement: Placement,
}

impl<'a> Bench<'a> {
    /// With points on so many leaves.
    #[must_use]
    pub fn new(set: &'a Set, truth: &'a [Vec<Found>], neighbours: u16, leaves: u32) -> Self {
        let placement = Placement::new(set.points.rows().count() as u32, leaves);
        Self { set, truth, neighbours, placement }
    }

    /// Starts leaves on which points lie in this order.
    ///
    /// # Errors
    /// When they cannot listen.
    pub fn tiers(&self, order: &Order) -> Result<Tiers, TiersError> {
        let points = self.set.points.rows();
        let leaf = |leaf| Arc::new(Leaf::new(points, order, self.placement, leaf));
        Tiers::start((0..self.placement.leaves()).map(leaf).collect())
    }

    /// How many candidates the index has for a query, in the mean.
    pub fn candidates(&self, index: &dyn Index) -> f64 {
        let mut candidates = Candidates::new(self.placement);
        let queries = self.set.queries.rows();
        let counts = queries.all().map(|query| {
            candidates.clear();
            index.look_up(query, &mut candidates);
            candidates.count() as f64
        });
        counts.sum::<f64>() / queries.count().max(1) as f64
    }

    /// Measures an index over leaves with its order.
    ///
    /// # Errors
    /// When an answer is wrong, or none comes.
    pub fn measure(
        &self,
        tiers: &Tiers,
        Tried { name, settings, index, look_up }: Tried,
    ) -> Result<Point, MeasureError> {
        let index_bytes = index.bytes();
        let dimensions = self.set.points.rows().dimensions();
        let midtier = MidTier::new(index, self.placement, dimensions);
        let Ok(questions) = Questions::prepare(self.set, &*look_up, self.neighbours, no_tell);
        let qualities = questions.qualities(self.truth);
        let quality = Quality::mean(&qualities);
        let inaccurate = Some(Quality::inaccurate(&qualities));
        let compute_us = compute(&midtier, tiers.leaves(), &questions)?;
        let latency_us = ask(midtier, tiers, &questions)?;
        Ok(Point {
            index: name.into(),
            settings,
            quality,
            inaccurate,
            index_bytes,
            compute_us,
            latency_us,
        })
    }
}

/// In this thread, by the same bytes as over sockets.
fn compute(
    midtier: &MidTier,
    leaves: &[Arc<Leaf>],
    questions: &Questions<'_>,
) -> Result<Times, MeasureError> {
    let mut times = Vec::with_capacity(questions.count());
    for number in warmed(questions.count()) {
        let query = questions.query(number);
        let start = Worked::now();
        let calls = midtier.plan(&query);
        let answers: Vec<_> = calls
            .iter()
            .map(|call| (call.leaf, leaves[call.leaf].answer(&call.request).unwrap_or_default()))
            .collect();
        let answers = answers.iter().map(|(leaf, bytes)| (*leaf, &bytes[..]));
        let answer = midtier.merge(0, answers, query.neighbours.into());
        times.push(start.elapsed());
        let answer = answer.map_err(MeasureError::Leaf)?;
        questions.check(number, &answer).map_err(|wrong| MeasureError::Wrong(number, wrong))?;
    }
    Ok(Times::of_warmed(times))
}

fn ask(midtier: MidTier, tiers: &Tiers, questions: &Questions<'_>) -> Result<Times, MeasureError> {
    let front = tiers.front(midtier).map_err(MeasureError::Tiers)?;
    let mut times = Vec::with_capacity(questions.count());
    for number in warmed(questions.count()) {
        let request = wire::request(number as u64, &questions.query(number));
        let start = Instant::now();
        let answer = front.ask(request).map_err(MeasureError::Tiers)?;
        times.push(start.elapsed());
        questions.check(number, &answer).map_err(|wrong| MeasureError::Wrong(number, wrong))?;
    }
    Ok(Times::of_warmed(times))
}

/// Queries that are asked before those that count: caches and branch predictors are cold at first.
const WARM_UP: usize = 50;

/// The last queries, then all.
fn warmed(count: usize) -> impl Iterator<Item = usize> {
    (count - WARM_UP.min(count)..count).chain(0..count)
}

fn no_tell(_: usize) -> Result<(), std::convert::Infallible> {
    Ok(())
}

impl Times {
    /// Of at least one, by the nearest rank: a share of them is as short, or shorter.
    #[must_use]
    pub fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let us = |share: f64| {
            let rank = (times.len() as f64 * share).ceil() as usize;
            times.get(rank.saturating_sub(1)).map_or(0.0, |time| time.as_nanos() as f64 / 1e3)
        };
        Self { p50: us(0.5), p99: us(0.99) }
    }

    fn of_warmed(mut times: Vec<Duration>) -> Self {
        let warm_up = WARM_UP.min(times.len() / 2);
        times.drain(..warm_up);
        Self::of(times)
    }
}

impl fmt::Display for MeasureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wrong(number, wrong) => {
                write!(f, "the answer to query {number} is wrong: {wrong}")
            }
            Self::Leaf(error) => error.fmt(f),
            Self::Tiers(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for MeasureError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(count: u64) -> Times {
        Times::of((1..=count).rev().map(Duration::from_micros).collect())
    }

    #[test]
    fn of_a_hundred_times_one_is_longer() {
        assert_eq!(times(100), Times { p50: 50.0, p99: 99.0 });
        assert_eq!(times(1), Times { p50: 1.0, p99: 1.0 });
    }
}
