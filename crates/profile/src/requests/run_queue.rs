//! How long requests waited in a run queue: their marks, joined to the kernel's account of threads.
//!
//! A thread *has* a request while it works for it. It has it before that, too, while the request stands in the queue from
//! which the thread then takes it. A wait for a core is a request's own while the waiting thread has it. While a request is
//! pending no thread has it, and no wait is told to be its own.

use super::every::{Handling, Handlings};
use crate::above;
use crate::kernel::{CoreWait, CoreWaits};
use crate::record::Record;
use crate::spans::covered;
use serde::Serialize;
use std::cmp::Reverse;

/// The quantile above which requests are the slowest.
const SLOWEST: f64 = 0.99;

/// Such waits in the making, from one reading of the kernel's file.
pub struct RunQueueTimes {
    /// For each request while threads worked for it; behind all of these, for each with its queues.
    waits: CoreWaits,
    lengths: Vec<Length>,
    left_out: u64,
}

/// How long requests waited in a run queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct RunQueue {
    /// All requests that were seen from their start to their end, less `left_out`.
    pub all: RunQueueSums,
    /// Those above p99 of these: the slowest hundredth, rounded up, and all as long as the shortest of that.
    pub slowest: RunQueueSums,
    /// Requests that are in neither, for want of memory.
    pub left_out: u64,
    /// States of threads that found no room. Time that they would tell of is unknown.
    pub states_left_out: u64,
}

/// The waits of some requests. All but `requests` are nanoseconds. A moment of a request counts once, however many threads had
/// it then.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct RunQueueSums {
    /// How many requests.
    pub requests: u64,
    /// How long the shortest took.
    pub least_ns: u64,
    /// How long all of them took, added up.
    pub took_ns: u64,
    /// How much of that a thread that had the request waited for a core.
    pub waited_ns: u64,
    /// How much of `waited_ns` was before that thread worked for the request, which stood in a queue.
    pub queued_ns: u64,
    /// How much of `took_ns` the kernel's file does not tell of a thread that had the request.
    pub unknown_ns: u64,
    /// In how much of `took_ns` no thread is known to have had the request. Whose waits count then is not known.
    pub threadless_ns: u64,
    /// The median of what a request waited, at least: what is unknown, or in no thread's hands, counts as no wait.
    pub p50_ns: u64,
    /// One request in a hundred waited longer, likewise.
    pub p99_ns: u64,
}

/// How long a request took, and in how much of that no thread had it, in nanoseconds.
struct Length {
    took_ns: u64,
    threadless_ns: u64,
}

/// A request, in nanoseconds.
struct Waited {
    length: Length,
    waited_ns: u64,
    queued_ns: u64,
    unknown_ns: u64,
}

impl RunQueueTimes {
    /// Begins, of these requests.
    #[must_use]
    pub fn new(handlings: Handlings) -> Self {
        let Handlings { all, left_out } = handlings;
        let lengths = all.iter().map(Length::of).collect();
        let lists = all.into_iter().map(|Handling { worked, mut queued, .. }| {
            queued.extend(&worked);
            (worked, queued)
        });
        let (mut wanted, whole): (Vec<_>, Vec<_>) = lists.unzip();
        wanted.extend(whole);
        Self { waits: CoreWaits::new(wanted), lengths, left_out }
    }

    /// Takes the next record of the kernel's file.
    pub fn add(&mut self, record: &Record) {
        self.waits.add(record);
    }

    /// Concludes; `None` of no request.
    #[must_use]
    pub fn finish(self) -> Option<RunQueue> {
        let Self { waits, lengths, left_out } = self;
        let (waits, states_left_out) = waits.finish();
        let (worked, whole) = waits.split_at(lengths.len());
        let waited = |((length, worked), whole): ((Length, &CoreWait), &CoreWait)| Waited {
            length,
            waited_ns: whole.runnable_ns,
            queued_ns: whole.runnable_ns.saturating_sub(worked.runnable_ns),
            unknown_ns: whole.unknown_ns,
        };
        let mut all: Vec<Waited> = lengths.into_iter().zip(worked).zip(whole).map(waited).collect();
        all.sort_by_key(|one| Reverse(one.length.took_ns));
        let lengths: Vec<u64> = all.iter().map(|one| one.length.took_ns).collect();
        let least = above::least(SLOWEST, &lengths);
        let slowest = &all[..lengths.partition_point(|took| *took >= least)];
        Some(RunQueue {
            all: RunQueueSums::of(&all)?,
            slowest: RunQueueSums::of(slowest)?,
            left_out,
            states_left_out,
        })
    }
}

impl RunQueueSums {
    /// Whether waits may be longer than told.
    #[must_use]
    pub const fn is_least(&self) -> bool {
        self.unknown_ns + self.threadless_ns > 0
    }
}

impl Length {
    fn of(handling: &Handling) -> Self {
        let held = handling.worked.iter().chain(&handling.queued);
        let held = covered(held.map(|one| (one.from_ns, one.to_ns)).collect());
        let took_ns = handling.to_ns.saturating_sub(handling.from_ns);
        Self { took_ns, threadless_ns: took_ns.saturating_sub(held) }
    }
}

impl RunQueueSums {
    /// Of requests, slowest first; `None` of none.
    fn of(requests: &[Waited]) -> Option<Self> {
        let least_ns = requests.last()?.length.took_ns;
        let sum = |ns: fn(&Waited) -> u64| requests.iter().map(ns).fold(0, u64::saturating_add);
        let mut waits: Vec<u64> = requests.iter().map(|one| one.waited_ns).collect();
        waits.sort_unstable();
        let percentile = |percent: usize| waits[(waits.len() * percent).div_ceil(100) - 1];
        Some(Self {
            requests: requests.len() as u64,
            least_ns,
            took_ns: sum(|one| one.length.took_ns),
            waited_ns: sum(|one| one.waited_ns),
            queued_ns: sum(|one| one.queued_ns),
            unknown_ns: sum(|one| one.unknown_ns),
            threadless_ns: sum(|one| one.length.threadless_ns),
            p50_ns: percentile(50),
            p99_ns: percentile(99),
        })
    }
}
