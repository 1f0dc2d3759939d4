//! The ways to find the queues with work.

mod epoll;
mod ready;
mod scan;
mod select;
mod shared;
mod tokio;

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
    /// One queue for all, whose items carry the number of theirs.
    Shared,
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
            Self::Epoll | Self::EpollEdge | Self::EpollSpin => {
                usize::try_from(descriptors.saturating_sub(64)).unwrap_or(usize::MAX)
            }
            // A choice takes milliseconds beyond.
            Self::Select => 4_096,
            Self::Scan
            | Self::Ready
            | Self::ReadySleep
            | Self::ReadyEmpty
            | Self::Shared
            | Self::Tokio => usize::MAX,
        }
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
            Self::Shared => run(shared::ends(), task),
            Self::Select => select::with(queues, task),
            Self::Tokio => run(tokio::ends(queues), task),
        })
    }
}

fn run<T: Task>((push, pop): (impl Push, impl Pop), task: T) -> T::Output {
    task.run(push, pop)
}
