//! When a DEMAND may leave: at most one for each answer, or each few milliseconds.

use std::time::Duration;
use tailwater_core::Instant;
use tailwater_wire::Demand;

/// The least time between two that no answer separates. A server has to read each. One for every call that joined a
/// queue cost a server as much as the calls (measured with a client that did so).
const GAP: Duration = Duration::from_millis(5);

/// The newest demand that was not told, and when it may be.
#[derive(Debug, Default)]
pub(super) struct DemandPace {
    untold: Option<Demand>,
    not_before: Instant,
}

impl DemandPace {
    /// This is the demand now.
    pub(super) const fn note(&mut self, demand: Demand) {
        self.untold = Some(demand);
    }

    /// A request leaves, and the demand with it.
    pub(super) const fn on_request(&mut self) {
        self.untold = None;
    }

    /// An answer came.
    pub(super) const fn on_answer(&mut self) {
        self.not_before = Instant::ZERO;
    }

    /// A new connection: nothing is left to be told.
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }

    /// What is to be sent now.
    pub(super) fn poll(&mut self, now: Instant) -> Option<Demand> {
        let demand = self.untold.take_if(|_| self.not_before <= now)?;
        self.not_before = now + GAP;
        Some(demand)
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.untold.map(|_| self.not_before)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn demand(demand: u32) -> Demand {
        Demand { demand, acked: 0 }
    }

    #[test]
    fn a_thousand_changes_between_two_answers_are_one_message() {
        let mut pace = DemandPace::default();
        let start = Instant::ZERO + Duration::from_secs(1);
        let mut told = Vec::new();
        for number in 0..1_000 {
            pace.note(demand(number));
            told.extend(pace.poll(start + Duration::from_micros(number.into())));
        }
        assert_eq!(told, [demand(0)]);
        assert_eq!(pace.next_deadline(), Some(start + GAP));
        assert_eq!(pace.poll(start + GAP), Some(demand(999)), "the newest is told in the end");
        assert_eq!(pace.next_deadline(), None);
    }

    #[test]
    fn behind_an_answer_it_is_told_at_once_and_with_a_request_not_at_all() {
        let mut pace = DemandPace::default();
        let now = Instant::ZERO + Duration::from_secs(1);
        pace.note(demand(1));
        assert_eq!(pace.poll(now), Some(demand(1)));
        pace.note(demand(2));
        assert_eq!(pace.poll(now), None);
        pace.on_answer();
        assert_eq!(pace.poll(now), Some(demand(2)));
        pace.note(demand(3));
        pace.on_answer();
        pace.on_request();
        assert_eq!(pace.poll(now), None, "the request says it");
    }
}
