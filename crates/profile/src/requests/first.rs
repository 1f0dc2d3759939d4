//! The first reading of a trace: its requests as they end, and what is counted beside them.

use super::Request;
use super::assemble::{Assembly, Incomplete};
use crate::clock::{Clocks, TickRate};
use crate::quality::Quality;
use crate::record::{Hop, HopKind, MarkKind, Record};
use crate::trace::{Ending, Header, TraceError};
use hdrhistogram::Histogram;

/// Longer requests count as this many ticks in the distribution.
const LONGEST: u64 = 1 << 48;

/// The first reading of one trace; which requests are kept is its owner's.
pub(crate) struct FirstReading {
    clocks: Clocks,
    quality: Quality,
    assembly: Assembly,
    lengths: Histogram<u64>,
    records: u64,
}

/// What it counted.
pub(crate) struct Counted {
    pub(crate) clocks: Clocks,
    pub(crate) quality: Quality,
    pub(crate) lengths: Histogram<u64>,
    pub(crate) incomplete: Incomplete,
    pub(crate) records: u64,
}

impl FirstReading {
    /// Begins, for the trace with this header.
    pub(crate) fn new(header: &Header) -> Self {
        Self {
            clocks: Clocks::new(header.clock),
            quality: Quality::default(),
            assembly: Assembly::default(),
            lengths: Histogram::new(2).expect("two digits are within the library's range"),
            records: 0,
        }
    }

    /// Takes the next record; gives the request that ended, if one did. Calls to other processes change nothing here: who
    /// follows them takes them by [`FirstReading::add_hop`]. To others each would take the room of a mark.
    pub(crate) fn add(&mut self, record: &Record) -> Option<Request> {
        self.records += 1;
        let mut done = None;
        match record {
            Record::Mark(mark) if mark.kind != MarkKind::Size => done = self.assembly.add(mark),
            Record::Hop(hop) if hop.kind == HopKind::Dequeued => done = self.assembly.add_hop(hop),
            Record::Clock(clock) => self.clocks.add(clock),
            Record::Gap(_) | Record::Loss(_) | Record::Looks(_) | Record::Figure(_) => {
                self.quality.add(record);
            }
            _ => {}
        }
        self.counted(done)
    }

    /// The same of what a request has to do with a call.
    pub(crate) fn add_hop(&mut self, hop: &Hop) -> Option<Request> {
        self.records += 1;
        let done = self.assembly.add_hop(hop);
        self.counted(done)
    }

    /// Takes note of a damaged part.
    pub(crate) fn damaged(&mut self, error: &TraceError) {
        self.quality.damaged(error);
    }

    /// The rate between the clock's readings so far.
    pub(crate) fn rate(&self) -> TickRate {
        self.clocks.rate()
    }

    /// Concludes with what the reader says of the end; the requests that have ended and were not given yet go to `take`.
    pub(crate) fn finish(mut self, ending: &Ending, mut take: impl FnMut(Request)) -> Counted {
        while let Some(done) = self.assembly.next() {
            self.counted(done).into_iter().for_each(&mut take);
        }
        let rate = self.clocks.rate();
        self.quality.end(ending, rate);
        Counted {
            incomplete: self.assembly.incomplete(rate),
            clocks: self.clocks,
            quality: self.quality,
            lengths: self.lengths,
            records: self.records,
        }
    }

    fn counted(&mut self, done: Option<Request>) -> Option<Request> {
        done.inspect(|request| {
            self.lengths.record(request.length().min(LONGEST)).expect("the histogram grows");
        })
    }
}
