//! A request on its way: admitted and waiting, then answered.

use super::key::RequestKey;
use crate::executor::Panicked;
use crate::service::{Reply, Request};
use std::num::NonZeroU64;
use std::time::Duration;
use tailwater_core::{Class, Instant};
use tailwater_marks::Mark;
use tailwater_sync::budget::{self, TaskBudget};

/// What is known of a request from its arrival to its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub(crate) key: RequestKey,
    /// When it reached this machine, as far as can be told.
    pub(crate) arrived: Instant,
    /// Since when it waits for its turn among the others. Later than its arrival if it was parked:
    /// that was its own connection's doing and is no sign of a busy server.
    pub(crate) ready: Instant,
    /// Length of its arguments.
    pub(crate) bytes: usize,
    pub(crate) class: Class,
    /// What both ends call it in traces, once it is admitted; `None` of a client without a number.
    pub(crate) name: Option<NonZeroU64>,
}

impl Origin {
    /// Its wait ends now: what a profiler is told of it.
    pub(crate) fn mark(&self, now: Instant) -> Mark {
        Mark::arrived(now.since(self.arrived)).of_call(self.name)
    }
}

/// An admitted request that waits to be run.
pub(crate) struct Job {
    pub(crate) origin: Origin,
    /// It comes from the parked ones of its connection, whose first it was.
    pub(crate) recalled: bool,
    /// How long it may queue, where that is limited. In a box: without one a request is half as long, and
    /// moves from hand to hand.
    pub(crate) budget: Option<Box<TaskBudget>>,
    pub(crate) request: Request,
}

impl Job {
    /// Takes its budget at its start, less what it waited until then.
    pub(crate) fn take_budget(&mut self, started: Instant) -> Option<Box<TaskBudget>> {
        let mut budget = self.budget.take()?;
        let entered = budget::enter(&mut budget);
        budget::deduct(started.since(self.origin.arrived));
        drop(entered);
        Some(budget)
    }

    /// What is left until its deadline; `None` without one.
    pub(crate) fn time_left(&self, now: Instant) -> Option<Duration> {
        self.request.deadline.map(|deadline| deadline.since(now))
    }
}

/// A handler's end.
pub(crate) struct Ended {
    pub(crate) origin: Origin,
    pub(crate) started: Instant,
    pub(crate) reply: Result<Reply, Panicked>,
    /// What was left of its budget at its last poll.
    pub(crate) budget: Option<Box<TaskBudget>>,
    /// Until its answer is written.
    pub(crate) mark: Mark,
}

/// What a client is told of its request.
#[derive(Clone, Copy, Debug)]
pub(super) enum Answer<'a> {
    Response { status: u16, payload: &'a [u8] },
    Reject(tailwater_control::Reason),
}
