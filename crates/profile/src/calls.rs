//! Every call of a trace with the bounds of its beginning and its end: rows of tables for other tools.
//!
//! Two passes: [`Calls`] finds out how long a tick lasts, and when which thread worked for which request. The [`Rows`] that
//! it turns into say of each call of a second reading what is known of it.

use crate::clock::Clocks;
use crate::hash::Map;
use crate::names::Names;
use crate::quality::Quality;
use crate::record::{Call, CallFlags, Function, FunctionId, Record, ThreadId, Ticks};
use crate::requests::{FirstReading, Request, What};
use crate::trace::{Ending, Header, TraceError};

/// Turns of threads for requests that are kept; 2²² take 130 MB. Calls within further ones have no request.
const TURNS_MAX: usize = 1 << 22;

/// The first pass.
pub struct Calls {
    reading: FirstReading,
    names: Names,
    turns: Turns,
}

/// What turns the calls of a second reading to rows.
pub struct Rows {
    clocks: Clocks,
    names: Names,
    turns: Turns,
    /// What the trace does not tell.
    pub quality: Quality,
    /// Records read.
    pub records: u64,
}

/// A call. Times are nanoseconds since the recording began.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row<'a> {
    /// Whose.
    pub thread: ThreadId,
    /// The kernel's number of that, where known.
    pub tid: Option<u32>,
    /// What.
    pub function: FunctionId,
    /// The same in words, where known.
    pub described: Option<&'a Function>,
    /// Recorded calls below it on the stack.
    pub depth: u32,
    /// It did not begin before the first and not after the second; `None`: that is not known.
    pub began_ns: [Option<u64>; 2],
    /// The same of its end.
    pub ended_ns: [Option<u64>; 2],
    /// The request for which its thread worked meanwhile, if that was one alone.
    pub request: Option<u64>,
}

/// When threads worked for which requests.
#[derive(Default)]
struct Turns {
    threads: Map<ThreadId, Vec<Turn>>,
    kept: usize,
    beyond: u64,
}

#[derive(Clone, Copy)]
struct Turn {
    from: Ticks,
    to: Ticks,
    request: u64,
    /// The last end of this one and of all before it.
    until: Ticks,
}

impl Calls {
    /// Begins, for the trace with this header.
    #[must_use]
    pub fn new(header: &Header) -> Self {
        Self {
            reading: FirstReading::new(header),
            names: Names::default(),
            turns: Turns::default(),
        }
    }

    /// Takes the next record.
    pub fn add(&mut self, record: &Record) {
        self.names.add(record);
        let done = self.reading.add(record);
        done.into_iter().for_each(|request| self.turns.add(&request));
    }

    /// Takes note of a damaged part.
    pub fn damaged(&mut self, error: &TraceError) {
        self.reading.damaged(error);
    }

    /// Concludes with what the reader says of the end.
    #[must_use]
    pub fn finish(self, ending: &Ending) -> Rows {
        let Self { reading, names, mut turns } = self;
        let counted = reading.finish(ending, |request| turns.add(&request));
        let mut quality = counted.quality;
        quality.beyond_bounds = turns.beyond + names.forgotten();
        turns.sort();
        Rows { clocks: counted.clocks, names, turns, quality, records: counted.records }
    }
}

impl Rows {
    /// What functions and threads are called.
    #[must_use]
    pub const fn names(&self) -> &Names {
        &self.names
    }

    /// What is known of a call.
    #[must_use]
    pub fn row(&self, call: &Call) -> Row<'_> {
        let bounds = |middle: Ticks, slack: u32| match slack {
            // A time with this slack may lie anywhere.
            u32::MAX => [None, None],
            slack => [middle.saturating_sub(slack.into()), middle.saturating_add(slack.into())]
                .map(|at| Some(self.clocks.since_start_ns(at))),
        };
        let [not_before, began_by] = bounds(call.start, call.start_slack);
        let [not_until, ended_by] = bounds(call.end, call.end_slack);
        let unless = |flag, bound: Option<u64>| bound.filter(|_| !call.flags.has(flag));
        Row {
            thread: call.thread,
            tid: self.names.tid(call.thread),
            function: call.function,
            described: self.names.function(call.function),
            depth: call.depth,
            began_ns: [unless(CallFlags::STARTED_BEFORE, not_before), began_by],
            ended_ns: [not_until, unless(CallFlags::UNFINISHED, ended_by)],
            request: self.turns.of(call),
        }
    }
}

impl Turns {
    fn add(&mut self, request: &Request) {
        for part in &request.parts {
            let What::Work(thread) = part.what else { continue };
            if self.kept >= TURNS_MAX {
                self.beyond += 1;
                continue;
            }
            self.kept += 1;
            let turn =
                Turn { from: part.from, to: part.to, request: request.number, until: part.to };
            self.threads.entry(thread).or_default().push(turn);
        }
    }

    fn sort(&mut self) {
        for turns in self.threads.values_mut() {
            turns.sort_unstable_by_key(|turn| turn.from);
            let mut until = 0;
            for turn in turns {
                until = until.max(turn.to);
                turn.until = until;
            }
        }
    }

    /// The one request of the time in which the call surely was on; where no time is sure, of its middle.
    fn of(&self, call: &Call) -> Option<u64> {
        let turns = self.threads.get(&call.thread)?;
        let from = call.start.saturating_add(call.start_slack.into());
        let to = call.end.saturating_sub(call.end_slack.into());
        let middle = call.start.midpoint(call.end);
        let (from, to) = if from <= to { (from, to) } else { (middle, middle) };
        let begun = &turns[..turns.partition_point(|turn| turn.from <= to)];
        let mut found = None;
        for turn in begun.iter().rev().take_while(|turn| turn.until >= from) {
            if turn.to < from || found == Some(turn.request) {
                continue;
            }
            if found.is_some() {
                return None;
            }
            found = Some(turn.request);
        }
        found
    }
}
