//! What each thread did when: calls, waits and marks in order of time.

use crate::clock::{Clocks, TickRate};
use crate::functions::{Bounds, Interval, bounds, wait_name};
use crate::names::Names;
use crate::quality::Quality;
use crate::record::{Call, Mark, MarkKind, Record, ThreadId, Ticks, Wait};
use crate::retention::Windows;
use crate::trace::{Ending, Header, TraceError};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// Calls kept, the longest; 2²⁰ take 90 MB.
const CALLS_MAX: usize = 1 << 20;
/// Waits kept, and marks, and sizes: the first.
const OTHERS_MAX: usize = 1 << 19;

/// A history in the making.
pub struct History {
    clocks: Clocks,
    names: Names,
    quality: Quality,
    calls: BinaryHeap<Reverse<Long>>,
    /// Calls that are not kept, and the longest of them.
    short: (u64, Ticks),
    waits: Vec<Wait>,
    marks: Vec<Mark>,
    /// Marks of sizes, which leave those of requests their room.
    sizes: Vec<Mark>,
    beyond: u64,
    records: u64,
    /// `None`: all of the recording.
    windows: Option<Windows>,
}

/// The history of a trace. Times are in nanoseconds since recording began, and the middle of what they are known by.
#[derive(Debug)]
pub struct Report {
    /// Records read.
    pub records: u64,
    /// How long a tick lasts.
    pub rate: TickRate,
    /// What the trace does not tell.
    pub quality: Quality,
    /// Calls that are left out, since others were longer.
    pub left_out: u64,
    /// None of these was longer, in nanoseconds.
    pub left_out_max_ns: u64,
    /// All threads of which anything is told, with their names.
    pub threads: Vec<(ThreadId, String)>,
    /// By thread and time; one that lies around others comes before them.
    pub calls: Vec<CallSpan>,
    /// By time.
    pub waits: Vec<WaitSpan>,
    /// By time.
    pub marks: Vec<MarkPoint>,
}

/// A call.
#[derive(Clone, PartialEq, Debug)]
pub struct CallSpan {
    /// Whose.
    pub thread: ThreadId,
    /// What.
    pub function: String,
    /// When it began.
    pub start_ns: u64,
    /// How long it took, to the middle of when it ended.
    pub ns: u64,
    /// How long it took, as it is known.
    pub took: Bounds,
    /// Instrumented calls below it on the stack.
    pub depth: u32,
    /// Its beginning lies no further from `start_ns` than this, and its end no further from the middle of that; `None`: it
    /// may lie anywhere.
    pub slack_ns: [Option<u64>; 2],
}

/// A wait.
#[derive(Clone, PartialEq, Debug)]
pub struct WaitSpan {
    /// Whose.
    pub thread: ThreadId,
    /// `mutex`, `read`, `write`, `condition` or `join`.
    pub kind: &'static str,
    /// The lock's address.
    pub object: u64,
    /// The thread that held it when the wait began, where known.
    pub held_by: Option<ThreadId>,
    /// Its name.
    pub holder: Option<String>,
    /// The function in which it had taken it, where known.
    pub held_in: Option<String>,
    /// When it began.
    pub start_ns: u64,
    /// How long it took.
    pub ns: u64,
}

/// A request's mark, or that of a size.
#[derive(Clone, PartialEq, Debug)]
pub struct MarkPoint {
    /// Where.
    pub thread: ThreadId,
    /// The program's own number; of a size its bytes.
    pub request: u64,
    /// `start`, `block`, `end`, `finish`, `enqueue` or `size`.
    pub kind: &'static str,
    /// When.
    pub at_ns: u64,
}

impl History {
    /// Begins, for the trace with this header.
    #[must_use]
    pub fn new(header: &Header) -> Self {
        Self {
            clocks: Clocks::new(header.clock),
            names: Names::default(),
            quality: Quality::default(),
            calls: BinaryHeap::new(),
            short: (0, 0),
            waits: vec![],
            marks: vec![],
            sizes: vec![],
            beyond: 0,
            records: 0,
            windows: None,
        }
    }

    /// Only what touches one of these times, in ticks.
    #[must_use]
    pub fn within(mut self, windows: impl IntoIterator<Item = (Ticks, Ticks)>) -> Self {
        let mut all = Windows::default();
        windows.into_iter().for_each(|(from, to)| all.add(from, to));
        self.windows = Some(all);
        self
    }

    /// Takes the next record.
    pub fn add(&mut self, record: &Record) {
        self.records += 1;
        let span = match record {
            Record::Call(call) => Some((call.start, call.end)),
            Record::Wait(wait) => Some((wait.start, wait.end)),
            Record::Mark(mark) => Some((mark.at, mark.at)),
            Record::Hop(hop) => Some((hop.at, hop.at)),
            _ => None,
        };
        if let (Some(windows), Some((from, to))) = (&self.windows, span)
            && !windows.touch(from, to)
        {
            return;
        }
        match record {
            Record::Call(call) => self.call(call),
            Record::Wait(wait) if self.waits.len() < OTHERS_MAX => self.waits.push(*wait),
            Record::Wait(_) => self.beyond += 1,
            Record::Mark(mark) => self.mark(mark),
            Record::Clock(clock) => self.clocks.add(clock),
            Record::Gap(_) | Record::Loss(_) | Record::Looks(_) | Record::Figure(_) => {
                self.quality.add(record);
            }
            Record::Function(_) | Record::Thread(_) | Record::Module(_) => self.names.add(record),
            Record::Hold(_)
            | Record::Counted(_)
            | Record::Hop(_)
            | Record::State(_)
            | Record::Interruption(_)
            | Record::Sample(_) => {}
        }
    }

    /// Takes note of a damaged part.
    pub fn damaged(&mut self, error: &TraceError) {
        self.quality.damaged(error);
    }

    /// Concludes with what the reader says of the end.
    #[must_use]
    pub fn finish(mut self, ending: &Ending) -> Report {
        let rate = self.clocks.rate();
        self.quality.beyond_bounds = self.beyond + self.names.forgotten();
        self.quality.end(ending, rate);
        let mut calls: Vec<Call> = self.calls.into_iter().map(|Reverse(Long(call))| call).collect();
        // Of calls that began at one look, the outer one is the longer, or the less deep.
        calls.sort_unstable_by_key(|one| (one.thread, one.start, Reverse(one.end), one.depth));
        self.waits.sort_by_key(|one| (one.start, one.thread));
        self.marks.append(&mut self.sizes);
        self.marks.sort_by_key(|one| (one.at, one.thread));
        let (clocks, names) = (&self.clocks, &self.names);
        // Each end is rounded by itself, or what touches would overlap by a nanosecond.
        let span = |start: Ticks, end: Ticks| {
            let start = clocks.since_start_ns(start);
            (start, clocks.since_start_ns(end).saturating_sub(start))
        };
        let whose = calls.iter().map(|one| one.thread);
        let whose = whose.chain(self.waits.iter().map(|one| one.thread));
        let threads: BTreeSet<ThreadId> =
            whose.chain(self.marks.iter().map(|one| one.thread)).collect();
        let call = |one: &Call| {
            let (start_ns, ns) = span(one.start, one.end);
            let took = bounds(Interval::of(one), rate);
            let (function, depth) = (names.of(one.function), one.depth);
            let slack = |slack: u32| (slack != u32::MAX).then(|| rate.ns(u64::from(slack)));
            let slack_ns = [one.start_slack, one.end_slack].map(slack);
            CallSpan { thread: one.thread, function, start_ns, ns, took, depth, slack_ns }
        };
        let wait = |one: &Wait| {
            let (start_ns, ns) = span(one.start, one.end);
            WaitSpan {
                thread: one.thread,
                kind: wait_name(one.kind),
                object: one.object,
                held_by: one.holder,
                holder: one.holder.map(|id| names.of_thread(id)),
                held_in: one.holder_function.map(|id| names.of(id)),
                start_ns,
                ns,
            }
        };
        let mark = |one: &Mark| MarkPoint {
            thread: one.thread,
            request: one.request,
            kind: mark_name(one.kind),
            at_ns: clocks.since_start_ns(one.at),
        };
        Report {
            records: self.records,
            rate,
            quality: self.quality,
            left_out: self.short.0,
            left_out_max_ns: rate.ns(self.short.1),
            threads: threads.into_iter().map(|id| (id, names.of_thread(id))).collect(),
            calls: calls.iter().map(call).collect(),
            waits: self.waits.iter().map(wait).collect(),
            marks: self.marks.iter().map(mark).collect(),
        }
    }

    fn mark(&mut self, mark: &Mark) {
        let kept = if mark.kind == MarkKind::Size { &mut self.sizes } else { &mut self.marks };
        match kept.len() < OTHERS_MAX {
            true => kept.push(*mark),
            false => self.beyond += 1,
        }
    }

    fn call(&mut self, call: &Call) {
        self.calls.push(Reverse(Long(*call)));
        if self.calls.len() > CALLS_MAX
            && let Some(Reverse(short)) = self.calls.pop()
        {
            self.short = (self.short.0 + 1, self.short.1.max(short.0.length()));
        }
    }
}

const fn mark_name(kind: MarkKind) -> &'static str {
    match kind {
        MarkKind::Start => "start",
        MarkKind::Block => "block",
        MarkKind::End => "end",
        MarkKind::EndAll => "finish",
        MarkKind::Enqueue => "enqueue",
        MarkKind::Size => "size",
    }
}

/// A call, by its length.
#[derive(PartialEq, Eq)]
struct Long(Call);

impl Ord for Long {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        // Of equals the outer one is kept: what lies within it may go.
        let key = |one: &Self| {
            (one.0.length(), Reverse(one.0.depth), Reverse((one.0.start, one.0.thread)))
        };
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Long {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
