//! The result, as tables and JSON show it.

use super::assemble::Incomplete;
use super::every::Handlings;
use super::kept::Scene;
use super::run_queue::RunQueue;
use super::timeline::{Activity, Piece, pieces};
use super::{Counted, Part, Request, What};
use crate::clock::{Clocks, TickRate};
use crate::functions::wait_name;
use crate::kernel::{Account, Coverage, Stretch};
use crate::names::Names;
use crate::quality::Quality;
use crate::record::{FunctionId, Place, ThreadId, Ticks, Wait, WaitKind};
use crate::sampled::{SampleCoverage, Sampled};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Functions named for a span of time.
const SHARES_MAX: usize = 5;
/// Waits listed for a request, longest first.
const WAITS_MAX: usize = 20;
/// Threads named of a request.
const THREADS_MAX: usize = 8;
/// Queues named of a request, longest first.
const QUEUES_MAX: usize = 8;
/// Steps listed for a request.
const STEPS_MAX: usize = 200;

/// The slowest requests of a trace.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Records read in the first pass.
    pub records: u64,
    /// How ticks became time.
    pub rate: TickRate,
    /// What the trace does not tell.
    pub quality: Quality,
    /// Requests that were seen from their start to their end; where the trace has kept a part, all that there were.
    pub count: u64,
    /// Quantiles of their durations, in nanoseconds.
    pub p50_ns: u64,
    /// One in a hundred is longer.
    pub p99_ns: u64,
    /// One in a thousand.
    pub p999_ns: u64,
    /// One in ten thousand.
    pub p9999_ns: u64,
    /// Others, of which no end or no beginning was seen.
    #[serde(flatten)]
    pub incomplete: Incomplete,
    /// Slowest first.
    pub slowest: Vec<RequestRow>,
    /// What the kernel's file does not tell, filled in by whoever has it; `null` where there is none.
    pub kernel: Option<Coverage>,
    /// How long requests waited in a run queue, filled in by whoever has the kernel's file. `null` without one, and where the
    /// trace has kept a part.
    pub run_queue: Option<RunQueue>,
    /// When which thread had each request, where [`Requests::with_every`](super::Requests::with_every) asked for it.
    #[serde(skip)]
    pub every: Option<Handlings>,
    /// What is not in the samples, filled in by whoever has them; `null` where there are none.
    pub samples: Option<SampleCoverage>,
    /// The tables, for whoever wants addresses and lines.
    #[serde(skip)]
    pub names: Names,
}

/// A slow request.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RequestRow {
    /// The program's own number.
    pub request: u64,
    /// When it began, in nanoseconds since 1970.
    pub start_real_ns: u64,
    /// When it began, in nanoseconds since recording began.
    pub start_ns: u64,
    /// How long it took; the parts add up to it.
    pub total_ns: u64,
    /// Where the time went.
    pub parts: Parts,
    /// How often a thread took it up: of a future its polls.
    pub turns: u64,
    /// The threads that did, in the order in which they came to it, at most eight.
    pub threads: Vec<String>,
    /// The functions in which its threads ran, most time first, at most five; the innermost
    /// recorded call counts. What is missing ran in calls too short to be recorded.
    pub running: Vec<Share>,
    /// What it waited for, longest first, at most twenty.
    pub waits: Vec<WaitRow>,
    /// The queues in which it stood, where the program told which, most time first, at most eight.
    pub queues: Vec<QueueRow>,
    /// The same in order of time, at most two hundred steps.
    pub steps: Vec<Step>,
    /// Steps, waits, queues and parts that are not listed; they count in the sums.
    pub left_out: u64,
    /// When it began and ended, in ticks, for a reading of its own.
    #[serde(skip)]
    pub span: (Ticks, Ticks),
    /// When threads worked for it.
    #[serde(skip)]
    pub stretches: Vec<Stretch>,
    /// How much of that they waited for locks and the like. As `stretches` it adds up over threads, while of `parts` each
    /// moment counts once.
    #[serde(skip)]
    pub waited_ns: u64,
    /// Where that time went, filled in by whoever has the kernel's file.
    pub kernel: Option<Account>,
    /// At which lines threads were that worked for it, filled in by whoever has samples.
    pub lines: Option<Sampled>,
}

/// A request's time, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Parts {
    /// At least one thread worked for it and did not wait.
    pub running_ns: u64,
    /// All threads that worked for it waited: for a lock, a condition, or a thread's end.
    pub waiting_ns: u64,
    /// It stood in a queue and nobody worked for it.
    pub queued_ns: u64,
    /// No thread worked for it and it was in no queue: handed over, as between two polls of a future.
    pub pending_ns: u64,
    /// The scanner was away, or no mark says.
    pub unknown_ns: u64,
}

/// Time spent in a queue, whether a thread worked for the request meanwhile or not.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct QueueRow {
    /// Its address.
    pub queue: u64,
    /// The variable there, filled in by whoever has the program's symbols.
    pub name: Option<String>,
    /// In nanoseconds.
    pub ns: u64,
}

/// Time spent in a function.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Share {
    /// Its name.
    pub function: String,
    /// In nanoseconds.
    pub ns: u64,
    /// Where it had been called from for most of that.
    #[serde(skip)]
    pub at: Option<Place>,
    /// File and line of the call, filled in by whoever has the program's debug information.
    pub line: Option<String>,
}

/// Waits of a request for one thing held by one thread.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct WaitRow {
    /// `mutex`, `read`, `write`, `condition` or `join`.
    pub kind: &'static str,
    /// The lock's address.
    pub object: u64,
    /// How many.
    pub waits: u64,
    /// How much of the request's time, in nanoseconds.
    pub ns: u64,
    /// The innermost function of the waiter, where known.
    pub function: Option<String>,
    /// Return address of the wait; zero when unknown.
    pub site: u64,
    /// The lock's variable, filled in by whoever has the program's symbols.
    pub lock: Option<String>,
    /// File and line of the site, filled in where the debug information is.
    pub line: Option<String>,
    /// Its holder, where known.
    pub holder: Option<Held>,
}

/// The holder of what was waited for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Held {
    /// The thread that held it when the wait began.
    pub thread: String,
    /// The innermost function in which it had taken it, where known.
    pub function: Option<String>,
    /// Where it had.
    #[serde(skip)]
    pub at: Option<Place>,
    /// File and line of that, filled in by whoever has the program's debug information.
    pub line: Option<String>,
    /// What that thread did during the wait, most time first, at most five; the innermost recorded
    /// call counts.
    pub doing: Vec<Share>,
    /// The time of that thread during the wait.
    #[serde(skip)]
    pub stretches: Vec<Stretch>,
    /// Where that time went, filled in by whoever has the kernel's file.
    pub kernel: Option<Account>,
}

/// A step of a request.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Step {
    /// Nanoseconds after the request's start.
    pub at_ns: u64,
    /// How long, in nanoseconds.
    pub ns: u64,
    /// What was so.
    pub state: State,
    /// The thread that ran or waited.
    pub thread: Option<String>,
}

/// What was so during a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// See [`Parts::running_ns`].
    Running,
    /// See [`Parts::waiting_ns`].
    Waiting,
    /// See [`Parts::queued_ns`].
    Queued,
    /// See [`Parts::pending_ns`].
    Pending,
    /// See [`Parts::unknown_ns`].
    Unknown,
}

/// Puts the result together.
pub(super) fn build(slowest: &[Request], scene: &Scene, counted: Counted, names: Names) -> Report {
    let Counted { clocks, quality, lengths, incomplete, records } = counted;
    let rate = clocks.rate();
    // A bucket's upper edge may lie above the longest of all.
    let longest = slowest.first().map_or(0, Request::length);
    let quantile = |q| rate.ns(lengths.value_at_quantile(q).min(longest));
    // Of all, where the trace has the slowest alone.
    let (count, [p50_ns, p99_ns, p999_ns, p9999_ns]) = quality.kept.map_or_else(
        || (lengths.len(), [0.5, 0.99, 0.999, 0.9999].map(quantile)),
        |kept| (kept.requests, [kept.p50_ns, kept.p99_ns, kept.p999_ns, kept.p9999_ns]),
    );
    let view = View { scene, names: &names, clocks: &clocks, rate };
    let slowest = slowest.iter().map(|one| row(one, &view)).collect();
    Report {
        records,
        rate,
        quality,
        count,
        p50_ns,
        p99_ns,
        p999_ns,
        p9999_ns,
        incomplete,
        slowest,
        kernel: None,
        run_queue: None,
        every: None,
        samples: None,
        names,
    }
}

/// What turns ticks and numbers into words.
pub(crate) struct View<'a> {
    pub(crate) scene: &'a Scene,
    pub(crate) names: &'a Names,
    pub(crate) clocks: &'a Clocks,
    pub(crate) rate: TickRate,
}

pub(crate) fn row(request: &Request, view: &View<'_>) -> RequestRow {
    let pieces = pieces(request, view.scene);
    let (waits, waits_left_out) = waits(&pieces, view);
    let (queues, queues_left_out) = queues(request, view.rate);
    let left_out = waits_left_out + queues_left_out + pieces.len().saturating_sub(STEPS_MAX);
    let running = pieces.iter().filter_map(|piece| match piece.doing {
        Activity::Running(thread) => Some((thread, piece)),
        _ => None,
    });
    let waited = work(request).map(|(thread, part)| waited(thread, part, view));
    RequestRow {
        request: request.number,
        start_real_ns: view.clocks.real_ns(request.start),
        start_ns: view.clocks.since_start_ns(request.start),
        total_ns: view.rate.ns(request.length()),
        parts: parts(&pieces, view.rate),
        turns: work(request).count() as u64,
        threads: threads(request, view),
        running: shares(running, view),
        waits,
        queues,
        steps: pieces.iter().take(STEPS_MAX).map(|piece| step(piece, request, view)).collect(),
        left_out: left_out as u64 + request.parts_left_out,
        span: (request.start, request.end),
        stretches: work(request)
            .filter_map(|(thread, part)| stretch(thread, part.from, part.to, view))
            .collect(),
        waited_ns: view.rate.ns(waited.fold(0, Ticks::saturating_add)),
        kernel: None,
        lines: None,
    }
}

/// When which thread worked for a request.
fn work(request: &Request) -> impl Iterator<Item = (ThreadId, &Part)> {
    request.parts.iter().filter_map(|part| match part.what {
        What::Work(thread) => Some((thread, part)),
        _ => None,
    })
}

/// Those that were told, and how many more there were.
fn queues(request: &Request, rate: TickRate) -> (Vec<QueueRow>, usize) {
    let mut ticks: BTreeMap<u64, Ticks> = BTreeMap::new();
    for part in &request.parts {
        if let What::Queue(Some(queue)) = part.what {
            let sum = ticks.entry(queue).or_default();
            *sum = sum.saturating_add(part.to - part.from);
        }
    }
    let row = |(queue, ticks)| QueueRow { queue, name: None, ns: rate.ns(ticks) };
    let mut rows: Vec<QueueRow> = ticks.into_iter().map(row).collect();
    rows.sort_by_key(|row| (Reverse(row.ns), row.queue));
    let left_out = rows.len().saturating_sub(QUEUES_MAX);
    rows.truncate(QUEUES_MAX);
    (rows, left_out)
}

fn threads(request: &Request, view: &View<'_>) -> Vec<String> {
    let mut met: Vec<ThreadId> = Vec::new();
    for (thread, _) in work(request) {
        if met.len() < THREADS_MAX && !met.contains(&thread) {
            met.push(thread);
        }
    }
    met.into_iter().map(|id| view.names.of_thread(id)).collect()
}

/// A time of a thread, if its number is known.
fn stretch(thread: ThreadId, from: Ticks, to: Ticks, view: &View<'_>) -> Option<Stretch> {
    let [from_ns, to_ns] = [from, to].map(|at| view.clocks.raw_ns(at));
    Some(Stretch { tid: view.names.tid(thread)?, from_ns, to_ns })
}

/// How much of a time a thread waited, in ticks.
fn waited(thread: ThreadId, part: &Part, view: &View<'_>) -> Ticks {
    let waits = view.scene.waits.get(&thread).into_iter();
    waits.flat_map(|waits| waits.within(part.from, part.to)).map(|span| span.to - span.from).sum()
}

/// Sums that add up to the whole also after rounding: each is the difference of two rounded sums.
fn parts(pieces: &[Piece], rate: TickRate) -> Parts {
    let mut ticks = [0u64; 5];
    for piece in pieces {
        ticks[state(piece.doing) as usize] += piece.to - piece.from;
    }
    let mut sum = 0;
    let [running_ns, waiting_ns, queued_ns, pending_ns, unknown_ns] = ticks.map(|ticks| {
        let before = rate.ns(sum);
        sum += ticks;
        rate.ns(sum) - before
    });
    Parts { running_ns, waiting_ns, queued_ns, pending_ns, unknown_ns }
}

const fn state(doing: Activity) -> State {
    match doing {
        Activity::Running(_) => State::Running,
        Activity::Waiting(_) => State::Waiting,
        Activity::Queued => State::Queued,
        Activity::Pending => State::Pending,
        Activity::Unknown => State::Unknown,
    }
}

fn step(piece: &Piece, request: &Request, view: &View<'_>) -> Step {
    let thread = match piece.doing {
        Activity::Running(thread) => Some(thread),
        Activity::Waiting(wait) => Some(wait.thread),
        _ => None,
    };
    Step {
        // A mark that came far too late may be of before the start.
        at_ns: view.rate.ns(piece.from.saturating_sub(request.start)),
        ns: view.rate.ns(piece.to - piece.from),
        state: state(piece.doing),
        thread: thread.map(|id| view.names.of_thread(id)),
    }
}

/// The innermost recorded calls of threads in pieces of time, most time first.
fn shares<'a>(pieces: impl Iterator<Item = (ThreadId, &'a Piece)>, view: &View<'_>) -> Vec<Share> {
    let mut ticks: BTreeMap<FunctionId, BTreeMap<(Option<FunctionId>, u16), u64>> = BTreeMap::new();
    for (thread, piece) in pieces {
        let Some(calls) = view.scene.calls.get(&thread) else { continue };
        for span in calls.within(piece.from, piece.to) {
            let places = ticks.entry(span.what.function).or_default();
            *places.entry(span.what.from).or_default() += span.to - span.from;
        }
    }
    let mut sorted: Vec<_> = ticks
        .into_iter()
        .map(|(id, places)| {
            let most = places.iter().max_by_key(|&(_, ticks)| *ticks).map(|(from, _)| *from);
            (places.values().sum::<u64>(), id, most.unwrap_or_default())
        })
        .collect();
    sorted.sort_by_key(|&(ticks, id, _)| (Reverse(ticks), id));
    sorted.truncate(SHARES_MAX);
    sorted
        .into_iter()
        .map(|(ticks, id, (caller, site))| Share {
            function: view.names.of(id),
            ns: view.rate.ns(ticks),
            at: view.names.place(caller, site),
            line: None,
        })
        .collect()
}

/// A function, and where in it.
type HeldIn = (Option<FunctionId>, u16);

/// What was waited for, joined where lock, holder and place are the same.
fn waits(pieces: &[Piece], view: &View<'_>) -> (Vec<WaitRow>, usize) {
    type Key = (WaitKind, u64, Option<ThreadId>, HeldIn, Option<FunctionId>, u64);
    let key = |wait: &Wait| -> Key {
        let Wait { kind, object, holder, holder_function, holder_site, function, site, .. } = *wait;
        (kind, object, holder, (holder_function, holder_site), function, site)
    };
    let mut joined: BTreeMap<Key, Vec<&Piece>> = BTreeMap::new();
    for piece in pieces {
        if let Activity::Waiting(wait) = &piece.doing {
            joined.entry(key(wait)).or_default().push(piece);
        }
    }
    let length = |pieces: &[&Piece]| pieces.iter().map(|piece| piece.to - piece.from).sum::<u64>();
    let mut sorted: Vec<_> = joined.into_iter().collect();
    sorted.sort_by_key(|(key, pieces)| (Reverse(length(pieces)), *key));
    let left_out = sorted.len().saturating_sub(WAITS_MAX);
    sorted.truncate(WAITS_MAX);
    let rows = sorted.into_iter().map(
        |((kind, object, holder, (held_in, held_at), function, site), pieces)| {
            let held = holder.map(|thread| Held {
                thread: view.names.of_thread(thread),
                function: held_in.map(|id| view.names.of(id)),
                at: view.names.place(held_in, held_at),
                line: None,
                doing: shares(pieces.iter().map(|&piece| (thread, piece)), view),
                stretches: pieces
                    .iter()
                    .filter_map(|piece| stretch(thread, piece.from, piece.to, view))
                    .collect(),
                kernel: None,
            });
            WaitRow {
                kind: wait_name(kind),
                object,
                waits: pieces.len() as u64,
                ns: view.rate.ns(length(&pieces)),
                function: function.map(|id| view.names.of(id)),
                site,
                lock: None,
                line: None,
                holder: held,
            }
        },
    );
    (rows.collect(), left_out)
}
