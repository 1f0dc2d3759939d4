//! The first reading of a trace: which requests there were, and which calls.

use super::longest::{Brief, Longest, Room};
use crate::clock::Clocks;
use crate::quality::Quality;
use crate::record::{MarkKind, Record};
use crate::requests::{Assembly, Incomplete, Request};
use crate::trace::{Ending, Header, TraceError};
use hdrhistogram::Histogram;
use std::fmt;

/// Of a trace; 2²⁰ requests take 80 MB, and 2²¹ calls 64 MB. The shortest beyond are counted and not told of.
const ROOM: Room = Room { requests: 1 << 20, legs: 1 << 21 };
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
    longest: Longest,
    records: u64,
}

/// What the first reading found, in a trace whose ticks were measured.
pub struct Tier {
    pub(super) name: String,
    pub(super) program: String,
    pub(super) clocks: Clocks,
    pub(super) quality: Quality,
    pub(super) lengths: Histogram<u64>,
    /// The longest first.
    pub(super) requests: Vec<Brief>,
    /// Shorter ones.
    pub(super) left_out: u64,
    pub(super) incomplete: Incomplete,
    pub(super) records: u64,
}

/// A trace's times cannot be compared with another's: how long its ticks last was not measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unmeasured;

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
            longest: Longest::new(ROOM),
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
    ///
    /// # Errors
    ///
    /// The trace does not tell how long a tick is.
    pub fn finish(mut self, ending: &Ending) -> Result<Tier, Unmeasured> {
        let rate = self.clocks.rate();
        if !rate.measured {
            return Err(Unmeasured);
        }
        while let Some(done) = self.assembly.next() {
            self.note(done);
        }
        self.quality.end(ending, rate);
        let incomplete = self.assembly.incomplete(rate);
        let (requests, left_out) = self.longest.finish();
        let Self { name, program, clocks, quality, lengths, records, .. } = self;
        Ok(Tier {
            name,
            program,
            clocks,
            quality,
            lengths,
            requests,
            left_out,
            incomplete,
            records,
        })
    }

    fn note(&mut self, done: Option<Request>) {
        let Some(request) = done else { return };
        self.lengths.record(request.length().min(LONGEST)).expect("the histogram grows");
        self.longest.add(request);
    }
}

impl fmt::Display for Unmeasured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "found no two clock readings a millisecond apart, needed them for the length of a tick: \
             record the program for a second at least or to its end, or leave this trace out",
        )
    }
}

impl std::error::Error for Unmeasured {}
