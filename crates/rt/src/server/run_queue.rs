//! Admitted requests that wait for their turn.

use super::job::Job;
use super::key::ConnectionKey;
use std::collections::VecDeque;
use std::time::Duration;
use tailwater_core::Instant;

/// First come, first served. Requests that are parked at their connections count against the bounds too.
pub(super) struct RunQueue {
    jobs: VecDeque<Job>,
    parked: usize,
    /// Bytes of arguments of all that wait.
    bytes: usize,
    max: usize,
    /// Connections whose clients cancelled requests that wait; some of them twice.
    cancelling: Vec<ConnectionKey>,
    /// When those requests may be looked for.
    prune_at: Instant,
}

/// Looking for cancelled requests takes a twentieth of the loop's time at most.
const PRUNE_SHARE: u32 = 20;

/// A queue that was longer gives its memory back once it is empty.
const KEPT: usize = 4_096;

impl RunQueue {
    /// Of `max` requests at most: beyond it they are shed as `queue-full`.
    pub(super) const fn new(max: usize) -> Self {
        Self {
            jobs: VecDeque::new(),
            parked: 0,
            bytes: 0,
            max,
            cancelling: Vec::new(),
            prune_at: Instant::ZERO,
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.jobs.len() + self.parked >= self.max
    }

    /// No request waits for its turn.
    pub(super) fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// The age of the oldest request that waits.
    pub(super) fn delay(&self, now: Instant) -> Duration {
        self.jobs.front().map_or(Duration::ZERO, |job| now.since(job.origin.ready))
    }

    /// A request was admitted.
    pub(super) fn push(&mut self, job: Job) {
        self.bytes += job.origin.bytes;
        self.jobs.push_back(job);
    }

    /// The next request has its turn.
    pub(super) fn pop(&mut self) -> Option<Job> {
        let job = self.jobs.pop_front()?;
        self.bytes -= job.origin.bytes;
        if self.jobs.is_empty() && self.jobs.capacity() > KEPT {
            self.jobs = VecDeque::new();
        }
        Some(job)
    }

    /// A request goes to its connection's own queue.
    pub(super) const fn park(&mut self, job: &Job) {
        self.parked += 1;
        self.bytes += job.origin.bytes;
    }

    /// A request comes back from there, or ends there.
    pub(super) const fn unpark(&mut self, job: &Job) {
        self.parked -= 1;
        self.bytes -= job.origin.bytes;
    }

    /// A connection's client has cancelled a request that may wait.
    pub(super) fn on_cancel(&mut self, key: ConnectionKey) {
        self.cancelling.push(key);
    }

    /// When the cancelled requests are to be looked for, if there are any.
    pub(super) fn prune_due(&self) -> Option<Instant> {
        (!self.cancelling.is_empty()).then_some(self.prune_at)
    }

    /// The connections whose requests are to be looked for.
    pub(super) fn take_cancelling(&mut self) -> Vec<ConnectionKey> {
        let mut keys = std::mem::take(&mut self.cancelling);
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Takes out the requests that were cancelled; the others keep their order.
    pub(super) fn take_out(&mut self, mut cancelled: impl FnMut(&Job) -> bool) -> Vec<Job> {
        let mut out = Vec::new();
        for _ in 0..self.jobs.len() {
            let Some(job) = self.jobs.pop_front() else { break };
            if cancelled(&job) {
                self.bytes -= job.origin.bytes;
                out.push(job);
            } else {
                self.jobs.push_back(job);
            }
        }
        out
    }

    /// The look took from `began` to `now`.
    pub(super) fn pruned(&mut self, began: Instant, now: Instant) {
        self.prune_at = now + now.since(began) * PRUNE_SHARE;
    }
}
