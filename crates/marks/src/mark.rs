//! A request, as the profiler is told of it.

use crate::{runtime, working};
use std::num::NonZeroU64;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// A request from its arrival to its answer. Dropping it is the answer.
///
/// A thread that works for it says [`Mark::works`], and [`Mark::waits`] when it stops; several may do so, one after the
/// other. In between the request is *pending*, or *queued* ([`Mark::queues`]). Nothing is told of one that was neither worked
/// for, nor in a queue, nor shed ([`Mark::sheds`]).
#[derive(Debug)]
#[must_use = "the request is answered when this is dropped"]
pub struct Mark {
    /// `None` where no runtime is there to tell.
    number: Option<NonZeroU64>,
    stage: Stage,
    /// The call of another process that it is, until that is told.
    call: Option<NonZeroU64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// No thread has worked for it yet; it has waited for so long before it was made.
    New {
        waited: Duration,
    },
    Works,
    Waits,
    /// Since then it stands in a queue.
    Queued {
        since: Instant,
    },
}

impl Mark {
    /// A request of which no thread has begun to work. It is told of once one does.
    pub fn new() -> Self {
        Self::arrived(Duration::ZERO)
    }

    /// The same, of one that arrived so long before the thread begins; that time counts as *queued*.
    pub fn arrived(waited: Duration) -> Self {
        let number = if runtime::is_there() { next_number() } else { None };
        Self { number, stage: Stage::New { waited }, call: None }
    }

    /// It is the call of this name, which another process has made: traces of both are joined by it.
    /// `tailwater_wire::call_name` makes names for this toolkit's protocol.
    pub const fn of_call(mut self, name: Option<NonZeroU64>) -> Self {
        self.call = name;
        self
    }

    /// Whether a profiler's runtime is there to tell.
    pub const fn is_read(&self) -> bool {
        self.number.is_some()
    }

    /// The calling thread begins, or goes on, to work for it. Said twice, it counts once.
    pub fn works(&mut self) {
        let Some(present) = self.number else { return };
        let number = present.get();
        match self.stage {
            Stage::New { waited } if waited.is_zero() => runtime::start(number),
            Stage::New { waited } => start_waited(number, waited),
            Stage::Queued { since } => start_waited(number, since.elapsed()),
            Stage::Waits => runtime::start(number),
            Stage::Works => return,
        }
        if let Some(name) = self.call.take() {
            runtime::called(number, name.get());
        }
        working::begin(present);
        self.stage = Stage::Works;
    }

    /// The calling thread hands it to a queue: until a thread works for it, its time counts as *queued*. One that is dropped
    /// there was shed then.
    pub fn queues(&mut self) {
        self.waits();
        if self.number.is_none() {
            return;
        }
        let now = Instant::now();
        let since = match self.stage {
            // What it has waited before counts, too.
            Stage::New { waited } => now.checked_sub(waited).unwrap_or(now),
            Stage::Queued { since } => since,
            Stage::Works | Stage::Waits => now,
        };
        self.stage = Stage::Queued { since };
    }

    /// The calling thread sheds it after it has waited: that time counts as *queued*, though no thread has worked for it. It
    /// ends when it is dropped. One that is refused on its arrival needs no mark.
    pub fn sheds(&mut self) {
        // What waits since a thread worked for it was told of.
        if self.stage != Stage::Waits {
            self.works();
        }
        self.waits();
    }

    /// The calling thread stops working for it, for now: its time counts as *pending* from here.
    pub fn waits(&mut self) {
        if let (Some(number), Stage::Works) = (self.number, self.stage) {
            runtime::block(number.get());
            working::end(number);
            self.stage = Stage::Waits;
        }
    }
}

impl Default for Mark {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        if matches!(self.stage, Stage::Queued { .. }) {
            self.sheds();
        }
        let told = !matches!(self.stage, Stage::New { .. });
        if let Some(number) = self.number.filter(|_| told) {
            working::end(number);
            runtime::finish(number.get());
        }
    }
}

fn start_waited(number: u64, waited: Duration) {
    let waited_ns = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
    runtime::start_waited(number, waited_ns);
}

/// Work of so many bytes begins, such as the compression of a block: `tailwater accelerate measure` makes a histogram of
/// them. Mark one kind of work in a program.
pub fn size(bytes: u64) {
    runtime::size(bytes);
}

/// Numbers are never used again by this process.
fn next_number() -> Option<NonZeroU64> {
    static LAST: AtomicU64 = AtomicU64::new(0);
    // It orders nothing: the number alone matters.
    NonZeroU64::new(LAST.fetch_add(1, Relaxed).wrapping_add(1))
}
