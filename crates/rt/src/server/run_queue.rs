//! Admitted requests that wait for their turn.

use super::job::Job;
use super::key::ConnectionKey;
use std::collections::VecDeque;
use std::time::Duration;
use tailwater_core::Instant;

/// First come, first served. Requests that are parked at their connections are counted here too, against a
/// bound of their own: a few connections whose handlers hang would fill the queue for all others.
pub(super) struct RunQueue {
    jobs: VecDeque<Job>,
    parked: usize,
    /// Bytes of arguments of all that wait.
    bytes: usize,
    /// Of the queued, and likewise of the parked. What is recalled or parked again exceeds it by one for each
    /// connection at most.
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
    /// Of `max` requests at most, and as many parked ones: beyond it they are shed as `queue-full`.
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
        self.jobs.len() >= self.max
    }

    /// Whether a request may be parked. One that was recalled goes back to where it was in any case.
    pub(super) const fn may_park(&self, job: &Job) -> bool {
        job.recalled || self.parked < self.max
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::testing::{at, job};
    use super::*;

    #[test]
    fn the_first_to_come_is_the_first_to_go_and_tells_the_delay() {
        let mut queue = RunQueue::new(8);
        assert_eq!(queue.delay(at(9)), Duration::ZERO);
        for id in 1..=3 {
            queue.push(job(1, id, id));
        }
        assert_eq!(queue.delay(at(9)), Duration::from_millis(8));
        assert_eq!(queue.pop().map(|job| job.origin.key.id.0), Some(1));
        assert_eq!(queue.delay(at(9)), Duration::from_millis(7));
    }

    #[test]
    fn what_was_parked_has_its_own_bound_and_does_not_count_for_the_delay() {
        let mut queue = RunQueue::new(1);
        queue.push(job(1, 1, 1));
        let parked = queue.pop().unwrap();
        queue.park(&parked);
        assert!(!queue.is_full(), "the queue is for others");
        assert!(!queue.may_park(&parked), "one is parked");
        assert!(queue.may_park(&Job { recalled: true, ..job(1, 3, 1) }), "it was parked before");
        queue.push(job(1, 2, 5));
        assert!(queue.is_full());
        assert_eq!(queue.delay(at(9)), Duration::from_millis(4));
        assert_eq!(queue.bytes(), 2 * parked.origin.bytes);
        queue.unpark(&parked);
        assert!(queue.may_park(&parked));
        assert!(queue.pop().is_some() && queue.is_empty());
        assert_eq!(queue.bytes(), 0);
    }

    #[test]
    fn what_is_taken_out_leaves_the_others_in_order() {
        let mut queue = RunQueue::new(100);
        (0..10).for_each(|id| queue.push(job(1, id, id)));
        let out = queue.take_out(|job| job.origin.key.id.0 % 3 == 0);
        let ids = |jobs: Vec<Job>| jobs.iter().map(|job| job.origin.key.id.0).collect::<Vec<_>>();
        assert_eq!(ids(out), [0, 3, 6, 9]);
        let left = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(ids(left), [1, 2, 4, 5, 7, 8]);
        assert_eq!(queue.bytes(), 0);
    }

    /// Else one client's CANCELs of requests deep in a long queue would take the loop.
    #[test]
    fn looking_for_cancelled_requests_takes_a_twentieth_of_the_time() {
        let mut queue = RunQueue::new(8);
        assert_eq!(queue.prune_due(), None, "nothing was cancelled");
        queue.on_cancel(job(1, 1, 1).origin.key.connection);
        assert!(queue.prune_due().is_some_and(|at| at <= super::super::testing::at(1)));
        assert_eq!(queue.take_cancelling().len(), 1);
        queue.pruned(at(1), at(2));
        queue.on_cancel(job(1, 1, 1).origin.key.connection);
        assert_eq!(queue.prune_due(), Some(at(22)));
    }
}
