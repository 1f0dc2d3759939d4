//! Requests that run, wherever: what their end must know, and how they can be ended early.

use crate::executor::TaskKey;
use crate::handover::Handover;
use crate::server::job::Origin;
use crate::server::key::FlightKey;
use slab::Slab;
use std::sync::Arc;
use tailwater_core::Instant;

/// A loop's requests that run and did not end at their first poll, or are with a worker. As many as the
/// runner has room for.
#[derive(Default)]
pub(super) struct Flights {
    slots: Slab<Flight>,
    /// Flights that have begun.
    numbers: u64,
    /// The ends of the list by age, without the abandoned.
    oldest: Option<u32>,
    newest: Option<u32>,
}

pub(super) struct Flight {
    number: u64,
    pub(super) origin: Origin,
    pub(super) started: Instant,
    pub(super) running: Running,
    /// Its neighbours in the order in which flights began.
    older: Option<u32>,
    newer: Option<u32>,
}

/// Where a request runs.
pub(super) enum Running {
    /// On the loop's own executor.
    Here(TaskKey),
    /// With a worker, or on the way to one.
    There(Arc<Handover>),
    /// With a worker still; but its request was answered, or its client is gone.
    Abandoned(Arc<Handover>),
}

impl Flights {
    /// The key that the next flight will have.
    pub(super) fn next_key(&self) -> FlightKey {
        let slot = u32::try_from(self.slots.vacant_key()).expect("tasks_max is below 2^24");
        FlightKey::new(slot, self.numbers)
    }

    /// A flight begins, with the key that [`Flights::next_key`] said.
    pub(super) fn begin(&mut self, origin: Origin, started: Instant, running: Running) {
        let (slot, older) = (self.next_key().slot(), self.newest);
        let flight = Flight { number: self.numbers, origin, started, running, older, newer: None };
        self.numbers += 1;
        self.slots.insert(flight);
        match older.and_then(|older| self.at(older)) {
            Some(older) => older.newer = Some(slot),
            None => self.oldest = Some(slot),
        }
        self.newest = Some(slot);
    }

    pub(super) fn get(&self, key: FlightKey) -> Option<&Flight> {
        self.slots.get(key.slot() as usize).filter(|flight| flight.number == key.number())
    }

    /// The flight in this slot.
    fn at(&mut self, slot: u32) -> Option<&mut Flight> {
        self.slots.get_mut(slot as usize)
    }

    /// A flight is over.
    pub(super) fn end(&mut self, key: FlightKey) -> Option<Flight> {
        self.get(key)?;
        let flight = self.slots.try_remove(key.slot() as usize)?;
        if !matches!(flight.running, Running::Abandoned(_)) {
            self.unlink(flight.older, flight.newer);
        }
        if self.slots.is_empty() && self.slots.capacity() > 1_024 {
            self.slots = Slab::new();
        }
        Some(flight)
    }

    /// A flight at a worker is of no interest any more; its slot is kept until the worker has ended it.
    pub(super) fn abandon(&mut self, key: FlightKey) {
        let Some(flight) = self.slots.get_mut(key.slot() as usize) else { return };
        if let Running::There(handover) = &flight.running {
            flight.running = Running::Abandoned(handover.clone());
            let (older, newer) = (flight.older, flight.newer);
            self.unlink(older, newer);
        }
    }

    fn unlink(&mut self, older: Option<u32>, newer: Option<u32>) {
        match older.and_then(|older| self.at(older)) {
            Some(neighbour) => neighbour.newer = newer,
            None => self.oldest = newer,
        }
        match newer.and_then(|newer| self.at(newer)) {
            Some(neighbour) => neighbour.older = older,
            None => self.newest = older,
        }
    }

    /// The flight that began first, and when.
    pub(super) fn oldest(&self) -> Option<(FlightKey, Instant)> {
        let slot = self.oldest?;
        let flight = self.slots.get(slot as usize)?;
        Some((FlightKey::new(slot, flight.number), flight.started))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::server::testing::{at, job};

    fn begin(flights: &mut Flights, ms: u64) -> FlightKey {
        let key = flights.next_key();
        flights.begin(job(1, ms, ms).origin, at(ms), Running::There(Arc::default()));
        key
    }

    #[test]
    fn the_oldest_is_known_whatever_ends_before() {
        let mut flights = Flights::default();
        let keys: Vec<_> = (1..=5).map(|ms| begin(&mut flights, ms)).collect();
        let oldest = |flights: &Flights| flights.oldest().map(|(_, started)| started);
        assert_eq!(oldest(&flights), Some(at(1)));
        assert!(flights.end(keys[2]).is_some() && flights.end(keys[2]).is_none(), "once");
        flights.abandon(keys[0]);
        assert_eq!(oldest(&flights), Some(at(2)), "an abandoned one is of no interest");
        assert!(flights.end(keys[1]).is_some());
        assert_eq!(oldest(&flights), Some(at(4)));
        flights.abandon(keys[4]);
        assert!(flights.end(keys[3]).is_some());
        assert_eq!(oldest(&flights), None);
        assert!(flights.end(keys[0]).is_some() && flights.end(keys[4]).is_some());
        begin(&mut flights, 9);
        assert_eq!(oldest(&flights), Some(at(9)));
    }

    #[test]
    fn a_key_names_no_later_flight_of_its_slot() {
        let mut flights = Flights::default();
        let first = begin(&mut flights, 1);
        flights.end(first);
        let second = begin(&mut flights, 2);
        assert_eq!(first.slot(), second.slot());
        assert!(flights.get(first).is_none() && flights.end(first).is_none());
        assert_eq!(flights.oldest(), Some((second, at(2))));
    }
}
