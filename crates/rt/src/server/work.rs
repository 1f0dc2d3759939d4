//! A connection's requests that are not answered yet.

use super::by_id::ById;
use super::job::Job;
use crate::config::ServerConfig;
use std::collections::{BTreeSet, VecDeque};
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
    /// Those that run: their ids, and their flights.
    running: Vec<(RequestId, u32)>,
    /// The same by id, once it was needed and until none runs; empty otherwise.
    by_id: ById,
}

/// Requests that run among which a CANCEL is looked for by a walk: 25 ns. It may name any id, and each request pays for five: a
/// walk over 8,192 takes 3 µs. Below this, and where nothing is cancelled, no request pays for the table.
const WALKED: usize = 64;

impl Work {
    /// Requests that run.
    pub(super) const fn running(&self) -> usize {
        self.running.len()
    }

    /// A request began to run; its place in the list.
    pub(super) fn run(&mut self, id: RequestId, flight: u32) -> usize {
        self.running.push((id, flight));
        if !self.by_id.is_empty() {
            self.by_id.insert(id, flight);
        }
        self.running.len() - 1
    }

    /// The request at this place runs no more. The flight that took its place, if one did.
    pub(super) fn end(&mut self, place: usize) -> Option<u32> {
        let (id, flight) = self.running.swap_remove(place);
        self.by_id.remove(id, flight);
        if self.running.is_empty() {
            self.running = Vec::new();
        }
        self.running.get(place).map(|&(_, moved)| moved)
    }

    /// The flight of a request that runs: of several with one id, the newest.
    pub(super) fn flight(&mut self, id: RequestId) -> Option<u32> {
        if self.running.len() <= WALKED {
            let mut newest_first = self.running.iter().rev();
            return newest_first.find(|(running, _)| *running == id).map(|&(_, flight)| flight);
        }
        if self.by_id.is_empty() {
            self.running.iter().for_each(|&(id, flight)| self.by_id.insert(id, flight));
        }
        self.by_id.newest(id)
    }

    /// The flights of all that run, which are forgotten here.
    pub(super) fn take_running(&mut self) -> Vec<(RequestId, u32)> {
        self.by_id = ById::default();
        std::mem::take(&mut self.running)
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
    fn the_flight_that_moves_into_a_place_is_told() {
        let mut work = Work::default();
        let places: Vec<_> = (0..4_u32).map(|n| work.run(RequestId(n.into()), 10 + n)).collect();
        assert_eq!(places, [0, 1, 2, 3]);
        assert_eq!(work.end(1), Some(13), "the last one moved");
        assert_eq!(work.end(2), None, "it was the last");
        assert_eq!(work.flight(RequestId(3)), Some(13));
        assert_eq!(work.flight(RequestId(2)), None);
        assert_eq!(work.take_running().len(), 2);
        assert_eq!(work.running(), 0);
    }

    #[test]
    fn of_two_requests_with_one_id_the_newest_is_found() {
        let mut work = Work::default();
        work.run(RequestId(1), 10);
        work.run(RequestId(1), 11);
        assert_eq!(work.flight(RequestId(1)), Some(11));
    }

    #[test]
    fn among_many_the_flight_of_an_id_is_found_whatever_begins_and_ends_after_the_first_look() {
        let mut rng = Rng::from_seed(1);
        let mut work = Work::default();
        // Their places, by flight.
        let mut places: Vec<usize> = Vec::new();
        for flight in 0..8 * WALKED as u32 {
            places.push(work.run(RequestId(u64::from(flight)), flight));
        }
        assert!(work.by_id.is_empty(), "nothing was looked for");
        for flight in 0..20_000 {
            let gone = rng.below(places.len() as u32);
            let asked = RequestId(rng.below(2 * flight + 1).into());
            let running =
                work.running.iter().find(|(id, _)| *id == asked).map(|&(_, flight)| flight);
            assert_eq!(work.flight(asked), running, "{asked:?}");
            assert!(!work.by_id.is_empty());
            let id = RequestId(8 * WALKED as u64 + u64::from(flight));
            let place = places[gone as usize];
            if let Some(moved) = work.end(place) {
                places[moved as usize] = place;
            }
            places[gone as usize] = work.run(id, gone);
        }
        for _ in 0..places.len() {
            work.end(0);
        }
        assert!(work.by_id.is_empty() && work.flight(RequestId(1)).is_none());
    }

    #[test]
    fn flights_that_are_taken_are_not_found() {
        let mut work = Work::default();
        for flight in 0..=WALKED as u32 {
            work.run(RequestId(flight.into()), flight);
        }
        assert_eq!(work.flight(RequestId(7)), Some(7));
        assert_eq!(work.take_running().len(), WALKED + 1);
        for flight in 0..=WALKED as u32 {
            work.run(RequestId(9), flight);
        }
        let found = (work.flight(RequestId(7)), work.flight(RequestId(9)));
        assert_eq!(found, (None, Some(WALKED as u32)));
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
