//! The slowest calls of chosen functions, and where the time of each went: no mark is needed.
//!
//! Two passes, as for requests: [`Slowest`] finds the calls; the [`Within`] that it turns into reads the trace again and
//! keeps what happened in them.

mod within;
mod rows;

pub use rows::{CallRow, Node, Report};
pub use within::Within;

use crate::clock::Clocks;
use crate::functions::Interval;
use crate::names::ENTRIES_MAX;
use crate::quality::Quality;
use crate::record::{Call, Function, FunctionId, Record};
use crate::trace::{Ending, Header, TraceError};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// Slow calls kept at most.
pub const SLOWEST_MAX: usize = 1000;

/// The first pass.
pub struct Slowest {
    includes: Box<dyn Fn(&Function) -> bool>,
    /// As many as may have names.
    members: BTreeSet<FunctionId>,
    wanted: usize,
    slowest: BinaryHeap<Reverse<Slow>>,
    tally: Tally,
    clocks: Clocks,
    quality: Quality,
}

/// What the first pass counted.
#[derive(Clone, Copy, Default)]
struct Tally {
    records: u64,
    calls: u64,
    left_out: u64,
}

/// A call among the slowest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Slow {
    took: Interval,
    call: Call,
}

impl Slowest {
    /// Begins, for the trace with this header; keeps the `slowest` so many calls, from 1 to [`SLOWEST_MAX`], of the
    /// functions that `includes` says yes to.
    #[must_use]
    pub fn new(
        header: &Header,
        slowest: usize,
        includes: impl Fn(&Function) -> bool + 'static,
    ) -> Self {
        Self {
            includes: Box::new(includes),
            members: BTreeSet::new(),
            wanted: slowest.clamp(1, SLOWEST_MAX),
            slowest: BinaryHeap::new(),
            tally: Tally::default(),
            clocks: Clocks::new(header.clock),
            quality: Quality::default(),
        }
    }

    /// Takes the next record.
    pub fn add(&mut self, record: &Record) {
        self.tally.records += 1;
        match record {
            Record::Function(function)
                if self.members.len() < ENTRIES_MAX && (self.includes)(function) =>
            {
                self.members.insert(function.id);
            }
            Record::Call(call) if self.members.contains(&call.function) => self.call(call),
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

    /// Chooses the slowest; what happened in them comes from reading the trace again.
    #[must_use]
    pub fn finish(mut self, ending: &Ending) -> Within {
        self.quality.end(ending, self.clocks.rate());
        let mut slowest: Vec<Slow> = self.slowest.into_iter().map(|Reverse(one)| one).collect();
        slowest.sort_by(|a, b| b.cmp(a));
        Within::new(slowest, self.members.len() as u64, self.tally, self.clocks, self.quality)
    }

    fn call(&mut self, call: &Call) {
        let took = Interval::of(call);
        if took.is_unknown() {
            self.tally.left_out += 1;
            return;
        }
        self.tally.calls += 1;
        self.slowest.push(Reverse(Slow { took, call: *call }));
        if self.slowest.len() > self.wanted {
            self.slowest.pop();
        }
    }
}

impl Ord for Slow {
    /// What surely was long is longer than what may have been; of equals, what is known best, then what came first.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let key = |one: &Self| {
            let Call { start, thread, generation, .. } = one.call;
            (one.took.low, Reverse(one.took.high), Reverse((start, thread, generation)))
        };
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Slow {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
