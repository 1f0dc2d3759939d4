//! A request, as the profiler is told of it.

use crate::runtime;
use std::num::NonZeroU64;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// A request from its arrival to its answer. Dropping it is the answer.
///
/// A thread that works for it says [`Mark::works`], and [`Mark::waits`] when it stops; several may do so, one after the
/// other. In between the request is *blocked*.
#[derive(Debug)]
#[must_use = "the request is answered when this is dropped"]
pub struct Mark {
    /// `None` where no runtime is there to tell.
    number: Option<NonZeroU64>,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// No thread has worked for it yet; it has waited for so long before it was made.
    New {
        waited: Duration,
    },
    Works,
    Waits,
}

impl Mark {
    /// A request of which no thread has begun to work. It is told of once one does.
    pub fn new() -> Self {
        Self::arrived(Duration::ZERO)
    }

    /// The same, of one that arrived so long before the thread begins; that time counts as *queued*.
    pub fn arrived(waited: Duration) -> Self {
        let number = if runtime::is_there() { next_number() } else { None };
        Self { number, stage: Stage::New { waited } }
    }

    /// Whether a profiler's runtime is there to tell.
    pub const fn is_read(&self) -> bool {
        self.number.is_some()
    }

    /// The calling thread begins, or goes on, to work for it. Said twice, it counts once.
    pub fn works(&mut self) {
        let Some(number) = self.number.map(NonZeroU64::get) else { return };
        match self.stage {
            Stage::New { waited } if waited.is_zero() => runtime::start(number),
            Stage::New { waited } => {
                let waited_ns = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
                runtime::start_waited(number, waited_ns);
            }
            Stage::Waits => runtime::start(number),
            Stage::Works => return,
        }
        self.stage = Stage::Works;
    }

    /// The calling thread stops working for it, for now.
    pub fn waits(&mut self) {
        if let (Some(number), Stage::Works) = (self.number, self.stage) {
            runtime::block(number.get());
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
        // What no thread has worked for was not told of.
        if let (Some(number), Stage::Works | Stage::Waits) = (self.number, self.stage) {
            runtime::finish(number.get());
        }
    }
}

/// Numbers are never used again by this process.
fn next_number() -> Option<NonZeroU64> {
    static LAST: AtomicU64 = AtomicU64::new(0);
    // It orders nothing: the number alone matters.
    NonZeroU64::new(LAST.fetch_add(1, Relaxed).wrapping_add(1))
}
