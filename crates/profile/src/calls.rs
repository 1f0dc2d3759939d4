//! Every call of a trace with the bounds of its beginning and its end: rows of tables for other tools.
//!
//! Two passes: [`Calls`] finds out how long a tick lasts, and when which thread worked for which request. The [`Rows`] that
//! it turns into say of each call of a second reading what is known of it.

use crate::clock::{Clocks, TickRate};
use crate::hash::Map;
use crate::names::Names;
use crate::quality::Quality;
use crate::record::{Call, CallFlags, Function, FunctionId, Record, ThreadId, Ticks};
use crate::requests::{FirstReading, Request, What};
use crate::trace::{Ending, Header, TraceError};

/// Turns of threads for requests that are kept; 2²² take 170 MB. Calls within further ones have no request.
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

/// Once sorted, a turn tells of itself and of all that began before it: a call asks which of these end after it has begun,
/// and only whether they are of one request. One may be open for all of a recording, so a walk over them had no bound.
#[derive(Clone, Copy)]
struct Turn {
    from: Ticks,
    /// The last end.
    to: Ticks,
    /// The request that has it.
    request: u64,
    /// The last end of another request.
    other: Option<Ticks>,
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
    /// How long a tick lasts.
    #[must_use]
    pub fn rate(&self) -> TickRate {
        self.clocks.rate()
    }

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
            let turn = Turn { from: part.from, to: part.to, request: request.number, other: None };
            self.threads.entry(thread).or_default().push(turn);
        }
    }

    fn sort(&mut self) {
        for turns in self.threads.values_mut() {
            turns.sort_unstable_by_key(|turn| turn.from);
            let mut before: Option<Turn> = None;
            for turn in turns {
                *turn = before.map_or(*turn, |before| before.and(*turn));
                before = Some(*turn);
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
        let last = turns.partition_point(|turn| turn.from <= to).checked_sub(1)?;
        let Turn { to: ended, request, other, .. } = turns[last];
        let is_alone = other.is_none_or(|other| other < from);
        (ended >= from && is_alone).then_some(request)
    }
}

impl Turn {
    /// All before and the next, as the next has them.
    fn and(self, next: Self) -> Self {
        let (to, request, other) = if next.request == self.request {
            (next.to.max(self.to), self.request, self.other)
        } else if next.to > self.to {
            (next.to, next.request, Some(self.to))
        } else {
            (self.to, self.request, self.other.max(Some(next.to)))
        };
        Self { from: next.from, to, request, other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const THREAD: ThreadId = ThreadId(7);

    /// Sorted, from beginnings, ends and requests.
    fn turns(all: &[(Ticks, Ticks, u64)]) -> Turns {
        let turn =
            |&(from, to, request): &(Ticks, Ticks, u64)| Turn { from, to, request, other: None };
        let mut turns = Turns::default();
        turns.threads.insert(THREAD, all.iter().map(turn).collect());
        turns.sort();
        turns
    }

    fn call(start: Ticks, end: Ticks) -> Call {
        Call {
            thread: THREAD,
            function: FunctionId(1),
            parent: None,
            depth: 0,
            generation: 1,
            start,
            start_slack: 0,
            end,
            end_slack: 0,
            flags: CallFlags::default(),
            site: 0,
        }
    }

    /// By looking at each.
    fn naive(all: &[(Ticks, Ticks, u64)], start: Ticks, end: Ticks) -> Option<u64> {
        let mut on = all.iter().filter(|(from, to, _)| *from <= end && *to >= start);
        let (_, _, first) = on.next()?;
        on.all(|(_, _, request)| request == first).then_some(*first)
    }

    /// Each call looked at all turns before it.
    #[test]
    fn a_request_that_is_open_throughout_makes_no_walk() {
        let mut all = vec![(0, Ticks::MAX, 0)];
        all.extend((1..=200_000).map(|nth| (10 * nth, 10 * nth + 4, nth)));
        let turns = turns(&all);
        for nth in 1..=200_000 {
            let (during, after) =
                (call(10 * nth + 1, 10 * nth + 2), call(10 * nth + 6, 10 * nth + 8));
            assert_eq!((turns.of(&during), turns.of(&after)), (None, Some(0)), "{nth}");
        }
    }

    proptest! {
        #[test]
        fn it_finds_what_looking_at_each_finds(
            all in prop::collection::vec((0..40_u64, 0..20_u64, 0..4_u64), 0..12),
            calls in prop::collection::vec((0..60_u64, 0..20_u64), 1..12),
        ) {
            let all: Vec<_> =
                all.into_iter().map(|(from, length, request)| (from, from + length, request)).collect();
            let turns = turns(&all);
            for (start, length) in calls {
                let end = start + length;
                prop_assert_eq!(turns.of(&call(start, end)), naive(&all, start, end));
            }
        }
    }
}
