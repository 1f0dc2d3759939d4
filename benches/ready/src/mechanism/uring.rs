//! An eventfd for each queue, and a multishot poll of each by io_uring: as an edge-triggered epoll, it reads nothing.

use super::events::{self, Events, Files};
use super::{Pop, Push};
use std::time::Duration;
use uring::Polls;

const SLEEP: Duration = Duration::from_millis(1);

/// Why there are no such cases, in a sentence; `None` if there are.
pub(crate) fn refused() -> Option<String> {
    uring::refusal().map(|error| format!("this kernel refuses io_uring: {error}"))
}

pub(super) fn sleeping(count: usize) -> Result<(impl Push, impl Pop), String> {
    ends(count, SLEEP)
}

/// Looks at the ring's flags in memory again instead of sleeping.
pub(super) fn spinning(count: usize) -> Result<(impl Push, impl Pop), String> {
    ends(count, Duration::ZERO)
}

fn ends(count: usize, at_most: Duration) -> Result<(impl Push, impl Pop), String> {
    let watched = |files: &Files| Ok(Uring { files: files.clone(), polls: None, at_most });
    events::ends(count, watched).map_err(|error| format!("eventfd: {error}"))
}

struct Uring {
    files: Files,
    /// Of the thread that pops, from its first pop on: a ring has one thread.
    polls: Option<Polls>,
    at_most: Duration,
}

impl Events for Uring {
    fn wait(&mut self, ready: &mut Vec<usize>) {
        let polls = self.polls.get_or_insert_with(|| {
            Polls::new(self.files.clone()).expect("the kernel made such a ring before")
        });
        polls.wait(self.at_most, ready).expect("a poll of an eventfd goes on");
    }
}
