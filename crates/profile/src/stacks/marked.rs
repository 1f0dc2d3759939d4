//! The calls within marked requests, and within those above a percentile.

use super::choice::{Choice, Working};
use crate::above;
use crate::record::{Record, ThreadId, Ticks};
use crate::requests::{FirstReading, Request, What};
use crate::trace::{Ending, Header};
use std::cmp::Reverse;

/// Turns of threads for requests that are kept; 2²² take 134 MB. Requests with further ones are left out.
const TURNS_MAX: usize = 1 << 22;
/// Requests that are kept: one that was shed in a queue has no turn.
const REQUESTS_MAX: usize = 1 << 22;

/// Finds the requests above a percentile of all: a reading of its own, before the one that uses the choices.
pub struct MarkedCalls {
    reading: FirstReading,
    kept: Ended,
}

/// Requests, and the calls within them.
#[derive(Debug)]
pub struct MarkedChoices {
    /// Requests that ended.
    pub requests: u64,
    /// Of these, those above the percentile: the share that it leaves, rounded up, and all as long as the shortest of that.
    pub slow_requests: u64,
    /// Requests beyond bounds: in none of the others.
    pub left_out: u64,
    /// The calls within slow requests.
    pub slow: Choice,
    /// The calls within all requests.
    pub all: Choice,
}

#[derive(Default)]
struct Ended {
    /// How long each took.
    lengths: Vec<Ticks>,
    turns: Vec<Turn>,
    left_out: u64,
}

/// A thread worked for a request.
struct Turn {
    thread: ThreadId,
    from: Ticks,
    to: Ticks,
    /// The request's place among the lengths.
    request: usize,
}

impl MarkedCalls {
    /// Begins, for the trace with this header.
    #[must_use]
    pub fn new(header: &Header) -> Self {
        Self { reading: FirstReading::new(header), kept: Ended::default() }
    }

    /// Takes the next record.
    pub fn add(&mut self, record: &Record) {
        let done = self.reading.add(record);
        done.into_iter().for_each(|request| self.kept.add(&request));
    }

    /// Concludes with what the reader says of the end: slow are requests above this quantile, from 0 to 1.
    #[must_use]
    pub fn finish(self, ending: &Ending, quantile: f64) -> MarkedChoices {
        let Self { reading, mut kept } = self;
        reading.finish(ending, |request| kept.add(&request));
        let least = kept.least(quantile);
        let is_slow = |length: Ticks| length >= least;
        MarkedChoices {
            requests: kept.lengths.len() as u64,
            slow_requests: kept.lengths.iter().filter(|length| is_slow(**length)).count() as u64,
            left_out: kept.left_out,
            slow: kept.within(is_slow),
            all: kept.within(|_| true),
        }
    }
}

impl Ended {
    fn add(&mut self, request: &Request) {
        let before = self.turns.len();
        let place = self.lengths.len();
        for part in &request.parts {
            let What::Work(thread) = part.what else { continue };
            self.turns.push(Turn { thread, from: part.from, to: part.to, request: place });
        }
        if self.turns.len() > TURNS_MAX || place >= REQUESTS_MAX {
            self.turns.truncate(before);
            self.left_out += 1;
        } else {
            self.lengths.push(request.length());
        }
    }

    /// What the shortest request above the quantile took.
    fn least(&self, quantile: f64) -> Ticks {
        let mut lengths = self.lengths.clone();
        lengths.sort_unstable_by_key(|length| Reverse(*length));
        above::least(quantile, &lengths)
    }

    /// The calls within requests of some lengths.
    fn within(&self, of: impl Fn(Ticks) -> bool) -> Choice {
        let turns = self.turns.iter().filter(|turn| of(self.lengths[turn.request]));
        Choice::Working(Working::new(turns.map(|turn| (turn.thread, turn.from, turn.to)).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Call, CallFlags, Clock, FunctionId, Mark, MarkKind};
    use crate::requests::Part;

    /// Requests one after another, each of a length; a thread works for them all the time.
    fn requests(lengths: &[Ticks]) -> Ended {
        let mut kept = Ended::default();
        let mut from = 0;
        for (number, length) in (1..).zip(lengths) {
            let to = from + length;
            let parts = vec![Part { from, to, what: What::Work(ThreadId(0)) }];
            let (start, end, legs) = (from, to, vec![]);
            kept.add(&Request { number, start, end, parts, parts_left_out: 0, called: None, legs });
            from = to + 10;
        }
        kept
    }

    #[test]
    fn a_percentile_leaves_the_share_that_it_says() {
        let lengths: Vec<Ticks> = (1..=1_000).collect();
        for (quantile, least) in [(0.5, 501), (0.99, 991), (0.999, 1_000), (0.9999, 1_000)] {
            assert_eq!(requests(&lengths).least(quantile), least, "{quantile}");
        }
        assert_eq!(requests(&[]).least(0.99), 0);
    }

    #[test]
    fn requests_without_turns_are_bounded_too() {
        let mut kept = Ended { lengths: vec![1; REQUESTS_MAX - 1], ..Ended::default() };
        let (parts, legs) = (vec![], vec![]);
        let shed =
            Request { number: 1, start: 0, end: 9, parts, parts_left_out: 0, called: None, legs };
        for left_out in [0, 1] {
            kept.add(&shed);
            assert_eq!((kept.lengths.len(), kept.left_out), (REQUESTS_MAX, left_out));
        }
    }

    #[test]
    fn calls_belong_to_a_request_that_they_lie_in() {
        let call = |start, end, slack, flags| Call {
            thread: ThreadId(0),
            function: FunctionId(1),
            parent: None,
            depth: 0,
            generation: 1,
            start,
            start_slack: slack,
            end,
            end_slack: slack,
            flags: CallFlags(flags),
            site: 0,
        };
        // From 0 to 100, 110 to 115 and 125 to 225.
        let choice = requests(&[100, 5, 100]).within(|length| length > 50);
        for (call, is_within) in [
            (call(0, 100, 0, 0), true),
            (call(10, 20, 0, 0), true),
            (call(130, 225, 0, 0), true),
            (call(111, 112, 0, 0), false),
            (call(90, 130, 0, 0), false),
            // It may have ended in time, and may not.
            (call(90, 102, 2, 0), true),
            (call(90, 102, 1, 0), false),
            (call(10, 20, 0, CallFlags::STARTED_BEFORE), false),
            (Call { thread: ThreadId(7), ..call(10, 20, 0, 0) }, false),
        ] {
            assert_eq!(choice.includes(&call), is_within, "{call:?}");
        }
    }

    #[test]
    fn requests_are_found_by_their_marks() {
        let clock = Clock { ticks: 0, raw_ns: 0, real_ns: 0 };
        let header = Header {
            architecture: "x86_64".into(),
            pid: 1,
            program: "p".into(),
            build_id: vec![],
            clock,
        };
        let mut marked = MarkedCalls::new(&header);
        for request in 1..=100_u64 {
            let (start, took) = (request * 1_000, if request == 50 { 900 } else { 100 });
            for (kind, at) in [(MarkKind::Start, start), (MarkKind::End, start + took)] {
                marked.add(&Record::Mark(Mark { thread: ThreadId(0), request, kind, at }));
            }
        }
        let found = marked.finish(&Ending::Unfinished, 0.99);
        assert_eq!((found.requests, found.slow_requests, found.left_out), (100, 1, 0));
    }
}
