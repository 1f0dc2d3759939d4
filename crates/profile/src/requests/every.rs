//! When which thread had each request: of all of them, in bounded memory.

use super::{Part, Request, What};
use crate::clock::Clocks;
use crate::kernel::Stretch;
use crate::names::Names;
use crate::record::{ThreadId, Ticks};

/// Parts kept of all requests together, whatever the number of traces; 2²⁰ and what becomes of them take some 400 MB. Later
/// requests are left out.
const PARTS_MAX: usize = 1 << 20;

/// What is kept of all requests, in ticks.
pub(crate) struct Every {
    all: Vec<Passage>,
    parts: usize,
    parts_max: usize,
    left_out: u64,
}

/// A request, without the times at which it was in nobody's hands.
struct Passage {
    start: Ticks,
    end: Ticks,
    /// By time.
    parts: Vec<Part>,
}

/// When threads had requests, of all those of a trace: what [`RunQueueTimes`](super::RunQueueTimes) begins with.
#[derive(Debug)]
pub struct Handlings {
    pub(super) all: Vec<Handling>,
    /// Requests that found no room.
    pub(super) left_out: u64,
}

/// A request, in nanoseconds of `CLOCK_MONOTONIC_RAW`.
#[derive(Debug)]
pub(super) struct Handling {
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
    /// When threads worked for it.
    pub(super) worked: Vec<Stretch>,
    /// When it stood in a queue, of the thread that then took it up.
    pub(super) queued: Vec<Stretch>,
}

impl Every {
    /// With an even share of the room: so many traces are read together.
    pub(crate) fn among(traces: usize) -> Self {
        Self { all: Vec::new(), parts: 0, parts_max: PARTS_MAX / traces.max(1), left_out: 0 }
    }

    pub(crate) fn add(&mut self, request: &Request) {
        if self.parts >= self.parts_max {
            self.left_out += 1;
            return;
        }
        let held = request.parts.iter().filter(|part| part.what != What::Block);
        let parts: Vec<Part> = held.copied().collect();
        self.parts += parts.len().max(1);
        self.all.push(Passage { start: request.start, end: request.end, parts });
    }

    /// The same by the kernel's clock and its numbers of threads.
    pub(crate) fn told(&self, clocks: &Clocks, names: &Names) -> Handlings {
        let all = self.all.iter().map(|one| one.told(clocks, names)).collect();
        Handlings { all, left_out: self.left_out }
    }
}

impl Passage {
    fn told(&self, clocks: &Clocks, names: &Names) -> Handling {
        let stretch = |thread: ThreadId, part: &Part| {
            // Of a request, whatever a damaged trace says of its parts.
            let within = |at: Ticks| at.clamp(self.start, self.end.max(self.start));
            let [from_ns, to_ns] = [part.from, part.to].map(|at| clocks.raw_ns(within(at)));
            let to_ns = to_ns.max(from_ns);
            Some(Stretch { tid: names.tid(thread)?, from_ns, to_ns })
        };
        let [from_ns, to_ns] = [self.start, self.end].map(|at| clocks.raw_ns(at));
        let mut handling = Handling { from_ns, to_ns, worked: Vec::new(), queued: Vec::new() };
        for part in &self.parts {
            match part.what {
                What::Work(thread) => handling.worked.extend(stretch(thread, part)),
                What::Queue(_) => {
                    let next = self.begins_at(part.to);
                    handling.queued.extend(next.and_then(|thread| stretch(thread, part)));
                }
                What::Block => {}
            }
        }
        handling
    }

    /// The thread that begins to work for it then: a start and the end of the queue before it are one reading of the clock.
    fn begins_at(&self, at: Ticks) -> Option<ThreadId> {
        let first = self.parts.partition_point(|part| part.from < at);
        let mut then = self.parts[first..].iter().take_while(|part| part.from == at);
        then.find_map(|part| match part.what {
            What::Work(thread) => Some(thread),
            What::Queue(_) | What::Block => None,
        })
    }
}
