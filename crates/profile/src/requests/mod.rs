//! The slowest requests, and where their time went.
//!
//! Two passes: [`Requests`] reads the marks and finds the slowest; the [`Details`] it turns into
//! read the trace again and keep only what happened while one of those was under way. From the kernel's file
//! [`RunQueueTimes`] tell how long all requests waited for a core.

mod assemble;
mod first;
mod details;
mod kept;
mod timeline;
mod every;
mod run_queue;
mod report;

pub use assemble::Incomplete;
pub(crate) use assemble::{Assembly, Leg, Part, What};
pub use details::Details;
pub(crate) use every::Every;
pub use every::Handlings;
pub(crate) use first::{Counted, FirstReading};
pub(crate) use kept::{Kept, Scene};
pub use report::{Held, Parts, QueueRow, Report, RequestRow, Share, State, Step, WaitRow};
pub(crate) use report::{View, row};
pub use run_queue::{RunQueue, RunQueueSums, RunQueueTimes};
pub(crate) use timeline::{Activity, pieces};

use crate::record::{Record, Ticks};
use crate::trace::{Ending, Header, TraceError};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Slow requests kept at most.
pub const SLOWEST_MAX: usize = 1000;

/// The first pass.
pub struct Requests {
    reading: FirstReading,
    chosen: Chosen,
}

/// What is kept of requests as they end.
struct Chosen {
    slowest: Slowest,
    every: Option<Every>,
}

/// A request that is over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Request {
    pub(crate) number: u64,
    pub(crate) start: Ticks,
    pub(crate) end: Ticks,
    /// By time. They may overlap: several threads can work for it at once.
    pub(crate) parts: Vec<Part>,
    /// Parts, and calls to other processes, beyond bounds.
    pub(crate) parts_left_out: u64,
    /// The call of another process that it is, and when that was told.
    pub(crate) called: Option<(u64, Ticks)>,
    /// Its calls to other processes, as they were sent.
    pub(crate) legs: Vec<Leg>,
}

/// So many requests, the longest.
struct Slowest {
    kept: BinaryHeap<Reverse<Request>>,
    wanted: usize,
}

impl Requests {
    /// Begins, for the trace with this header; keeps the `slowest` so many, from 1 to
    /// [`SLOWEST_MAX`].
    #[must_use]
    pub fn new(header: &Header, slowest: usize) -> Self {
        let wanted = slowest.clamp(1, SLOWEST_MAX);
        let slowest = Slowest { kept: BinaryHeap::new(), wanted };
        Self { reading: FirstReading::new(header), chosen: Chosen { slowest, every: None } }
    }

    /// Keeps also when which thread had each request, in some 400 MB at most: [`Report::every`].
    #[must_use]
    pub fn with_every(mut self) -> Self {
        self.chosen.every = Some(Every::among(1));
        self
    }

    /// Takes the next record.
    pub fn add(&mut self, record: &Record) {
        let done = self.reading.add(record);
        done.into_iter().for_each(|request| self.chosen.take(request));
    }

    /// Takes note of a damaged part.
    pub fn damaged(&mut self, error: &TraceError) {
        self.reading.damaged(error);
    }

    /// Chooses the slowest; the details come from reading the trace again.
    #[must_use]
    pub fn finish(self, ending: &Ending) -> Details {
        let Self { reading, mut chosen } = self;
        let counted = reading.finish(ending, |request| chosen.take(request));
        Details::new(chosen.slowest.sorted(), chosen.every, counted)
    }
}

impl Chosen {
    fn take(&mut self, request: Request) {
        if let Some(every) = &mut self.every {
            every.add(&request);
        }
        self.slowest.consider(request);
    }
}

impl Slowest {
    fn consider(&mut self, request: Request) {
        self.kept.push(Reverse(request));
        if self.kept.len() > self.wanted {
            self.kept.pop();
        }
    }

    /// Longest first.
    fn sorted(self) -> Vec<Request> {
        // Of what is reversed the least is the longest.
        self.kept.into_sorted_vec().into_iter().map(|Reverse(one)| one).collect()
    }
}

/// Orders requests by length; of equals the earlier counts as longer.
pub(crate) const fn rank(
    number: u64,
    start: Ticks,
    end: Ticks,
) -> (Ticks, Reverse<Ticks>, Reverse<u64>) {
    (end.saturating_sub(start), Reverse(start), Reverse(number))
}

impl Request {
    pub(crate) const fn length(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }
}

impl Ord for Request {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let rank = |one: &Self| rank(one.number, one.start, one.end);
        rank(self).cmp(&rank(other))
    }
}

impl PartialOrd for Request {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
