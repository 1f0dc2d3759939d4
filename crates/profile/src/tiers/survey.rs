//! The first reading of a trace: which requests there were, and which calls.

use crate::clock::Clocks;
use crate::quality::Quality;
use crate::record::{MarkKind, Record, Ticks};
use crate::requests::{Assembly, Leg, Request};
use crate::trace::{Ending, Header, TraceError};
use hdrhistogram::Histogram;
use std::collections::BTreeSet;

/// Requests of a trace; 2²⁰ take 80 MB. Those beyond are counted and not told of.
const REQUESTS_MAX: usize = 1 << 20;
/// Their calls to other processes, all together; 2²¹ take 64 MB.
const LEGS_MAX: usize = 1 << 21;
/// Longer requests count as so many ticks in the distribution.
const LONGEST: u64 = 1 << 48;

/// The first reading of one trace.
pub struct Survey {
    name: String,
    program: String,
    clocks: Clocks,
    quality: Quality,
    assembly: Assembly,
    lengths: Histogram<u64>,
    requests: Vec<Brief>,
    legs: usize,
    left_out: u64,
    records: u64,
}

/// What the first reading found.
pub struct Tier {
    pub(super) name: String,
    pub(super) program: String,
    pub(super) clocks: Clocks,
    pub(super) quality: Quality,
    pub(super) lengths: Histogram<u64>,
    pub(super) requests: Vec<Brief>,
    /// Requests that are not among them.
    pub(super) left_out: u64,
    pub(super) records: u64,
}

/// A request, without what threads did for it.
pub(super) struct Brief {
    pub(super) number: u64,
    pub(super) start: Ticks,
    pub(super) end: Ticks,
    /// The call that it is, and when that was told.
    pub(super) called: Option<(u64, Ticks)>,
    pub(super) legs: Box<[Leg]>,
}

impl Brief {
    pub(super) const fn length(&self) -> Ticks {
        self.end.saturating_sub(self.start)
    }
}

impl Survey {
    /// Begins, for the trace with this header; people know it by `name`.
    #[must_use]
    pub fn new(name: &str, header: &Header) -> Self {
        Self {
            name: name.to_owned(),
            program: header.program.clone(),
            clocks: Clocks::new(header.clock),
            quality: Quality::default(),
            assembly: Assembly::default(),
            lengths: Histogram::new(2).expect("two digits are within the library's range"),
            requests: Vec::new(),
            legs: 0,
            left_out: 0,
            records: 0,
        }
    }

    /// Takes the next record.
    pub fn add(&mut self, record: &Record) {
        self.records += 1;
        match record {
            Record::Mark(mark) if mark.kind != MarkKind::Size => {
                let done = self.assembly.add(mark);
                self.note(done);
            }
            Record::Hop(hop) => {
                let done = self.assembly.add_hop(hop);
                self.note(done);
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

    /// Concludes with what the reader says of the end.
    #[must_use]
    pub fn finish(mut self, ending: &Ending) -> Tier {
        while let Some(done) = self.assembly.next() {
            self.note(done);
        }
        self.quality.end(ending, self.clocks.rate());
        let Self { name, program, clocks, quality, lengths, requests, left_out, records, .. } =
            self;
        Tier { name, program, clocks, quality, lengths, requests, left_out, records }
    }

    fn note(&mut self, done: Option<Request>) {
        let Some(request) = done else { return };
        self.lengths.record(request.length().min(LONGEST)).expect("the histogram grows");
        let has_room =
            self.requests.len() < REQUESTS_MAX && self.legs + request.legs.len() <= LEGS_MAX;
        if !has_room {
            self.left_out += 1;
            return;
        }
        self.legs += request.legs.len();
        let Request { number, start, end, called, legs, .. } = request;
        self.requests.push(Brief { number, start, end, called, legs: legs.into() });
    }
}

impl Tier {
    /// From when to when these requests were under way.
    pub(super) fn windows(&self, wanted: &BTreeSet<(u64, Ticks)>) -> Vec<(Ticks, Ticks)> {
        let met = self.requests.iter().filter(|one| wanted.contains(&(one.number, one.start)));
        met.map(|one| (one.start, one.end)).collect()
    }
}
