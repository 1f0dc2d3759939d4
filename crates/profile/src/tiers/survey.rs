//! The first reading of a trace: which requests there were, and which calls.

use super::longest::{Brief, Longest, Room};
use crate::clock::Clocks;
use crate::quality::Quality;
use crate::record::Record;
use crate::requests::{Counted, Every, FirstReading, Incomplete, Request};
use crate::trace::{Ending, Header, TraceError};
use hdrhistogram::Histogram;
use std::fmt;

/// Of a trace; 2²⁰ requests take 80 MB, and 2²¹ calls 64 MB. The shortest beyond are counted; a [`Search`](super::Search) finds
/// those that are calls of the slowest.
const ROOM: Room = Room { requests: 1 << 20, legs: 1 << 21 };

/// The first reading of one trace.
pub struct Survey {
    name: String,
    program: String,
    reading: FirstReading,
    chosen: Chosen,
}

/// What is kept of requests as they end.
struct Chosen {
    longest: Longest,
    every: Option<Every>,
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
    /// Shorter ones, of which no reading has found that they matter.
    pub(super) left_out: u64,
    pub(super) incomplete: Incomplete,
    pub(super) records: u64,
    /// When which thread had each request, where that was asked for.
    pub(super) every: Option<Every>,
}

/// A trace's times cannot be compared with another's: how long its ticks last was not measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unmeasured;

impl Survey {
    /// Begins, for the trace with this header; people know it by `name`.
    #[must_use]
    pub fn new(name: &str, header: &Header) -> Self {
        Self::with_room(name, header, ROOM)
    }

    pub(super) fn with_room(name: &str, header: &Header, room: Room) -> Self {
        Self {
            name: name.to_owned(),
            program: header.program.clone(),
            reading: FirstReading::new(header),
            chosen: Chosen { longest: Longest::new(room), every: None },
        }
    }

    /// Keeps also when which thread had each request: [`TierRow::every`](super::TierRow::every). The room, some 400 MB at most,
    /// is for `among` traces that are read together.
    #[must_use]
    pub fn with_every(mut self, among: usize) -> Self {
        self.chosen.every = Some(Every::among(among));
        self
    }

    /// Takes the next record.
    pub fn add(&mut self, record: &Record) {
        let done = match record {
            Record::Hop(hop) => self.reading.add_hop(hop),
            _ => self.reading.add(record),
        };
        done.into_iter().for_each(|request| self.chosen.take(request));
    }

    /// Takes note of a damaged part.
    pub fn damaged(&mut self, error: &TraceError) {
        self.reading.damaged(error);
    }

    /// Concludes with what the reader says of the end.
    ///
    /// # Errors
    ///
    /// The trace does not tell how long a tick is.
    pub fn finish(self, ending: &Ending) -> Result<Tier, Unmeasured> {
        let Self { name, program, reading, mut chosen } = self;
        if !reading.rate().measured {
            return Err(Unmeasured);
        }
        let counted = reading.finish(ending, |request| chosen.take(request));
        let Chosen { longest, every } = chosen;
        let (requests, left_out) = longest.finish();
        let Counted { clocks, quality, lengths, incomplete, records } = counted;
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
            every,
        })
    }
}

impl Chosen {
    fn take(&mut self, request: Request) {
        if let Some(every) = &mut self.every {
            every.add(&request);
        }
        self.longest.add(request);
    }
}

impl Tier {
    /// Adds requests that were left out, and now matter.
    pub(super) fn take(&mut self, found: Vec<Brief>) {
        self.left_out = self.left_out.saturating_sub(found.len() as u64);
        self.requests.extend(found);
        self.requests.sort_unstable_by(|one, other| other.cmp(one));
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
