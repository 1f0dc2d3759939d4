//! A connection's requests that are not answered yet.

use super::job::Job;
use super::key::FlightKey;
use crate::config::ServerConfig;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use tailwater_core::RequestId;

/// Bounded as a whole by `pending_max`: each of its requests is in the run queue, parked or running.
#[derive(Default)]
pub(super) struct Work {
    /// Requests that wait or run, and those that are being refused.
    pub(super) pending: u32,
    /// Those of them in the run queue.
    pub(super) queued: u32,
    /// Bytes of arguments of those that were admitted.
    pub(super) bytes: usize,
    /// Those that must wait until the connection reads its answers, or one of its tasks ends.
    pub(super) parked: VecDeque<Job>,
    /// One of the parked is in the run queue.
    pub(super) recalled: bool,
    /// Questions for the server's counts that are being answered.
    pub(super) questions: u32,
    /// Those that were cancelled while they waited. As many as wait, at most.
    cancelled: BTreeSet<RequestId>,
    /// Those that run: the slots of their flights, by their ids and their flights' numbers. In order, as a CANCEL may name
    /// any id: a walk over 8,192 took 5 µs.
    running: BTreeMap<(RequestId, u64), u32>,
}

/// Parked requests for which a connection keeps the memory when none is left.
const KEPT: usize = 64;

impl Work {
    /// Requests that run.
    pub(super) fn running(&self) -> usize {
        self.running.len()
    }

    /// A request began to run.
    pub(super) fn run(&mut self, id: RequestId, flight: FlightKey) {
        self.running.insert((id, flight.number()), flight.slot());
    }

    /// A request runs no more.
    pub(super) fn end(&mut self, id: RequestId, flight: FlightKey) {
        self.running.remove(&(id, flight.number()));
        if self.running.is_empty() {
            // An empty tree keeps a node.
            self.running = BTreeMap::new();
        }
    }

    /// The flight of a request that runs: of several with one id, the newest.
    pub(super) fn flight(&self, id: RequestId) -> Option<FlightKey> {
        let mut of_id = self.running.range((id, 0)..=(id, u64::MAX));
        of_id.next_back().map(|(&(_, number), &slot)| FlightKey::new(slot, number))
    }

    /// The flights of all that run, which are forgotten here.
    pub(super) fn take_running(&mut self) -> impl Iterator<Item = FlightKey> {
        let running = std::mem::take(&mut self.running);
        running.into_iter().map(|((_, number), slot)| FlightKey::new(slot, number))
    }

    /// The connection has as many requests as it may, or one of `bytes` beside them is too much.
    pub(super) const fn is_crowded(&self, bytes: usize, config: &ServerConfig) -> bool {
        self.pending as usize > config.pending_max
            || (self.bytes > 0 && self.bytes + bytes > config.pending_bytes_max)
    }

    /// Requests in the run queue or parked.
    pub(super) fn waiting(&self) -> usize {
        self.queued as usize + self.parked.len()
    }

    /// A request that waits, if it does, is to be refused. False if no more can be remembered.
    pub(super) fn cancel_waiting(&mut self, id: RequestId) -> bool {
        let room = self.cancelled.len() < self.waiting();
        room && self.cancelled.insert(id)
    }

    /// Whether a waiting request was cancelled; it is remembered no longer.
    pub(super) fn was_cancelled(&mut self, id: RequestId) -> bool {
        // Nearly always it is empty.
        !self.cancelled.is_empty() && self.cancelled.remove(&id)
    }

    /// Takes the first of those that are parked. A crowd's memory goes with the last of it: each of many connections would
    /// keep that of its own for as long as it lasts.
    pub(super) fn next_parked(&mut self) -> Option<Job> {
        let job = self.parked.pop_front()?;
        if self.parked.is_empty() && self.parked.capacity() > KEPT {
            self.parked = VecDeque::new();
        }
        Some(job)
    }

    /// A request left the run queue.
    pub(super) const fn off_queue(&mut self, job: &Job) {
        self.queued -= 1;
        self.recalled &= !job.recalled;
    }

    /// Whether a request of the run queue was cancelled: then it leaves the queue.
    pub(super) fn take_cancelled_queued(&mut self, job: &Job) -> bool {
        let cancelled = self.was_cancelled(job.origin.key.id);
        if cancelled {
            self.off_queue(job);
        }
        cancelled
    }

    /// All that wait were looked at: what is left named requests that had ended before.
    pub(super) fn forget_cancelled(&mut self) {
        self.cancelled.clear();
    }

    /// Takes the cancelled out of those that are parked.
    pub(super) fn take_cancelled_parked(&mut self) -> Vec<Job> {
        let (mut kept, mut cancelled) = (VecDeque::new(), Vec::new());
        for job in std::mem::take(&mut self.parked) {
            if self.was_cancelled(job.origin.key.id) {
                cancelled.push(job);
            } else {
                kept.push_back(job);
            }
        }
        self.parked = kept;
        cancelled
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::testing::job;
    use super::*;
    use tailwater_core::Rng;

    #[test]
    fn of_two_requests_with_one_id_the_newest_is_found_and_each_ends_for_itself() {
        let mut work = Work::default();
        // The newer one has the lower slot, as of a flight that has ended.
        let (older, newer) = (FlightKey::new(7, 10), FlightKey::new(3, 11));
        for flight in [older, newer] {
            work.run(RequestId(1), flight);
        }
        assert_eq!((work.running(), work.flight(RequestId(1))), (2, Some(newer)));
        work.end(RequestId(1), newer);
        assert_eq!(work.flight(RequestId(1)), Some(older));
        work.end(RequestId(1), newer);
        assert_eq!(work.running(), 1, "once");
        assert_eq!(work.take_running().collect::<Vec<_>>(), [older]);
        assert_eq!((work.running(), work.flight(RequestId(1))), (0, None));
    }

    /// Beside a list that is walked from its newest end.
    #[test]
    fn whatever_begins_and_ends_the_flight_of_an_id_is_that_of_a_plain_list() {
        let mut rng = Rng::from_seed(1);
        let (mut work, mut list) = (Work::default(), Vec::new());
        for number in 0..20_000 {
            // From none to some hundred, and back.
            let begins = if number % 2_000 < 1_000 { 3 } else { 1 };
            let id = if list.is_empty() || rng.below(4) < begins {
                let (id, flight) = (RequestId(rng.below(64).into()), FlightKey::new(7, number));
                work.run(id, flight);
                list.push((id, flight));
                id
            } else {
                let (id, flight) = list.remove(rng.below(list.len() as u32) as usize);
                work.end(id, flight);
                id
            };
            let newest = list.iter().rev().find(|(of, _)| *of == id).map(|&(_, flight)| flight);
            assert_eq!((work.flight(id), work.running()), (newest, list.len()), "{number}");
        }
    }

    #[test]
    fn no_more_cancels_are_remembered_than_requests_wait() {
        let mut work = Work { queued: 2, ..Work::default() };
        let taken: Vec<_> = (0..5).map(|id| work.cancel_waiting(RequestId(id))).collect();
        assert_eq!(taken, [true, true, false, false, false]);
        assert!(work.was_cancelled(RequestId(1)) && !work.was_cancelled(RequestId(1)), "once");
        work.forget_cancelled();
        assert!(!work.was_cancelled(RequestId(0)));
        assert!(!Work::default().cancel_waiting(RequestId(0)), "nothing waits");
    }

    /// A client could have each of its connections keep as much, one after the other.
    #[test]
    fn a_connection_whose_parked_requests_have_gone_on_keeps_no_memory_for_them() {
        let mut work = Work::default();
        for crowd in [1_000, 4] {
            work.parked.extend((0..crowd).map(|id| job(1, id, 1)));
            let gone_on = std::iter::from_fn(|| work.next_parked());
            assert!(gone_on.map(|job| job.origin.key.id.0).eq(0..crowd), "in their order");
            assert!(work.parked.capacity() <= KEPT, "{crowd}: {}", work.parked.capacity());
        }
    }

    #[test]
    fn cancelled_requests_leave_the_parked_ones_in_order() {
        let mut work = Work::default();
        work.parked.extend((0..5).map(|id| job(1, id, 1)));
        assert!(work.cancel_waiting(RequestId(3)) && work.cancel_waiting(RequestId(0)));
        assert_eq!(work.take_cancelled_parked().len(), 2);
        let left: Vec<_> = work.parked.iter().map(|job| job.origin.key.id.0).collect();
        assert_eq!(left, [1, 2, 4]);
    }
}
