//! The slowest requests, and where their time went.
//!
//! Two passes: [`Requests`] reads the marks and finds the slowest; the [`Details`] it turns into
//! read the trace again and keep only what happened while one of those was under way.

mod assemble;
mod details;
mod kept;
mod timeline;
mod report;

pub use assemble::Incomplete;
pub(crate) use assemble::{Assembly, Leg, Part, What};
pub use details::Details;
pub(crate) use kept::{Kept, Scene};
pub use report::{Held, Parts, Report, RequestRow, Share, State, Step, WaitRow};
pub(crate) use report::{View, row};
pub(crate) use timeline::{Activity, pieces};

use crate::clock::Clocks;
use crate::quality::Quality;
use crate::record::{MarkKind, Record, Ticks};
use crate::trace::{Ending, Header, TraceError};
use hdrhistogram::Histogram;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Slow requests kept at most.
pub const SLOWEST_MAX: usize = 1000;
/// Longer requests count as this many ticks in the distribution.
const LONGEST: u64 = 1 << 48;

/// The first pass.
pub struct Requests {
    clocks: Clocks,
    quality: Quality,
    assembly: Assembly,
    slowest: BinaryHeap<Reverse<Request>>,
    wanted: usize,
    lengths: Histogram<u64>,
    records: u64,
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

/// What the first pass counted.
struct Counts {
    records: u64,
    lengths: Histogram<u64>,
    incomplete: Incomplete,
}

impl Requests {
    /// Begins, for the trace with this header; keeps the `slowest` so many, from 1 to
    /// [`SLOWEST_MAX`].
    #[must_use]
    pub fn new(header: &Header, slowest: usize) -> Self {
        Self {
            clocks: Clocks::new(header.clock),
            quality: Quality::default(),
            assembly: Assembly::default(),
            slowest: BinaryHeap::new(),
            wanted: slowest.clamp(1, SLOWEST_MAX),
            lengths: Histogram::new(2).expect("two digits are within the library's range"),
            records: 0,
        }
    }

    /// Takes the next record.
    pub fn add(&mut self, record: &Record) {
        self.records += 1;
        match record {
            Record::Mark(mark) if mark.kind != MarkKind::Size => {
                let done = self.assembly.add(mark);
                self.consider(done);
            }
            Record::Clock(clock) => self.clocks.add(clock),
            Record::Gap(_) | Record::Loss(_) | Record::Looks(_) | Record::Figure(_) => {
                self.quality.add(record);
            }
            _ => {}
        }
    }

    /// Takes note of a damaged part.
    pub fn damaged(&mut self, error: &TraceError) {
        self.quality.damaged(error);
    }

    /// Chooses the slowest; the details come from reading the trace again.
    #[must_use]
    pub fn finish(mut self, ending: &Ending) -> Details {
        while let Some(done) = self.assembly.next() {
            self.consider(done);
        }
        let rate = self.clocks.rate();
        self.quality.end(ending, rate);
        let counts = Counts {
            records: self.records,
            lengths: self.lengths,
            incomplete: self.assembly.incomplete(rate),
        };
        let mut slowest: Vec<Request> = self.slowest.into_iter().map(|Reverse(one)| one).collect();
        slowest.sort_by(|a, b| b.cmp(a));
        Details::new(slowest, counts, self.clocks, self.quality)
    }

    fn consider(&mut self, done: Option<Request>) {
        let Some(request) = done else { return };
        self.lengths.record(request.length().min(LONGEST)).expect("the histogram grows");
        self.slowest.push(Reverse(request));
        if self.slowest.len() > self.wanted {
            self.slowest.pop();
        }
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
