//! The ways to find the queues with work.

mod bell;
mod epoll;
mod events;
mod ready;
mod scan;
mod select;
mod shared;
mod told;
mod tokio;
pub(crate) mod uring;

use clap::ValueEnum;
use serde::Serialize;

/// The producer's end.
pub(crate) trait Push: Send {
    fn push(&mut self, queue: usize, item: u64);
}

/// The consumer's end.
pub(crate) trait Pop: Send {
    /// One item and its queue. `None` when nothing was found; a mechanism that sleeps does so for a
    /// millisecond at most.
    fn pop(&mut self) -> Option<(usize, u64)>;
}

/// A way to find the queues with work.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Debug)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Mechanism {
    /// Looks at one queue after another.
    Scan,
    /// tailwater's ready set, spinning.
    Ready,
    /// tailwater's ready set, sleeping after 5 µs without work.
    ReadySleep,
    /// tailwater's ready set, spinning; a visit empties the queue.
    ReadyEmpty,
    /// An eventfd for each queue, written to when the queue was empty, and epoll, level-triggered: sleeps without work.
    Epoll,
    /// The same, edge-triggered: no read for each event.
    EpollEdge,
    /// The same, and it asks again at once instead of sleeping: what the spinning ready set is held against.
    EpollSpin,
    /// Level-triggered and spinning, with one item for each event: as much as a visit of the ready set takes.
    EpollOne,
    /// An eventfd for each queue, and a multishot poll of each by io_uring: sleeps without work.
    Uring,
    /// The same, and it looks at the ring's flags in memory again instead of sleeping.
    UringSpin,
    /// One more queue, with the number of each item's queue: what is left where nothing is to be found.
    Told,
    /// One queue for all, whose items carry the number of theirs.
    Shared,
    /// The runtime's bell beside its one queue of completions; sleeps without work. With one queue only.
    Bell,
    /// A ready set of one queue in the bell's place.
    BellSet,
    /// The bell's queue, and a consumer that is awake.
    BellSpin,
    /// The set in the bell's place, and a consumer that is awake.
    BellSetSpin,
    /// crossbeam's channels and `Select`, built once.
    Select,
    /// tokio's channels in a `SelectAll`.
    Tokio,
}

/// Work for both ends of a mechanism, whatever their types are.
pub(crate) trait Task {
    type Output;
    fn run(self, push: impl Push, pop: impl Pop) -> Self::Output;
}

impl Mechanism {
    /// The most queues with which it is tried.
    pub(crate) fn queues_max(self, descriptors: u64) -> usize {
        match self {
            // Some descriptors are open already.
            Self::Epoll
            | Self::EpollEdge
            | Self::EpollSpin
            | Self::EpollOne
            | Self::Uring
            | Self::UringSpin => {
                usize::try_from(descriptors.saturating_sub(64)).unwrap_or(usize::MAX)
            }
            // They have one.
            Self::Bell | Self::BellSet | Self::BellSpin | Self::BellSetSpin => 1,
            // A choice takes milliseconds beyond.
            Self::Select => 4_096,
            Self::Scan
            | Self::Ready
            | Self::ReadySleep
            | Self::ReadyEmpty
            | Self::Told
            | Self::Shared
            | Self::Tokio => usize::MAX,
        }
    }

    /// Whether it can be measured only where the kernel lets a process have io_uring.
    pub(crate) const fn needs_uring(self) -> bool {
        matches!(self, Self::Uring | Self::UringSpin)
    }

    pub(crate) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// Makes both ends for so many queues and hands them to the task.
    pub(crate) fn with<T: Task>(self, queues: usize, task: T) -> Result<T::Output, String> {
        Ok(match self {
            Self::Scan => run(scan::ends(queues), task),
            Self::Ready => run(ready::spinning(queues)?, task),
            Self::ReadySleep => run(ready::sleeping(queues)?, task),
            Self::ReadyEmpty => run(ready::emptying(queues)?, task),
            Self::Epoll => run(epoll::sleeping(queues)?, task),
            Self::EpollEdge => run(epoll::edge(queues)?, task),
            Self::EpollSpin => run(epoll::spinning(queues)?, task),
            Self::EpollOne => run(epoll::one_by_one(queues)?, task),
            Self::Uring => run(uring::sleeping(queues)?, task),
            Self::UringSpin => run(uring::spinning(queues)?, task),
            Self::Told => run(told::ends(queues), task),
            Self::Shared => run(shared::ends(), task),
            Self::Bell => run(bell::bell(bell::Idle::Sleeps), task),
            Self::BellSet => run(bell::ready_set(bell::Idle::Sleeps)?, task),
            Self::BellSpin => run(bell::bell(bell::Idle::Spins), task),
            Self::BellSetSpin => run(bell::ready_set(bell::Idle::Spins)?, task),
            Self::Select => select::with(queues, task),
            Self::Tokio => run(tokio::ends(queues), task),
        })
    }
}

fn run<T: Task>((push, pop): (impl Push, impl Pop), task: T) -> T::Output {
    task.run(push, pop)
}
