//! A loop's side of dispatched handlers.

use super::pool::{Handed, Pool};
use crate::handover::Handover;
use crate::server::job::Job;
use crate::server::key::FlightKey;
use std::sync::Arc;

pub(in crate::server) struct Workers {
    pool: Arc<Pool>,
    /// The loop's number, by which workers find its inbox.
    home: usize,
    /// Handovers for further flights: as many as were under way at once, 1,024 at most.
    spares: Vec<Arc<Handover>>,
}

const SPARES: usize = 1_024;

impl Workers {
    pub(in crate::server) const fn new(pool: Arc<Pool>, home: usize) -> Self {
        Self { pool, home, spares: Vec::new() }
    }

    pub(super) fn reserve(&self) -> bool {
        self.pool.reserve()
    }

    pub(super) fn release(&self) -> bool {
        self.pool.release()
    }

    pub(super) fn await_room(&self) -> bool {
        self.pool.await_room()
    }

    /// Hands a request over by the place that was reserved.
    pub(super) fn start(&mut self, job: Job, flight: FlightKey) -> Arc<Handover> {
        let handover = self.spares.pop().unwrap_or_default();
        let flight = (self.home, flight);
        self.pool.push(Handed { flight, handover: handover.clone(), job });
        handover
    }

    /// Ends a flight. False if no worker had begun it, and none will.
    pub(super) fn cancel(&self, handover: &Handover, flight: FlightKey) -> bool {
        let worker = handover.cancel();
        if let Some(worker) = worker {
            self.pool.staff.cancel(worker, (self.home, flight));
        }
        worker.is_some()
    }

    /// A flight is over, and its worker has said so.
    pub(super) fn give_back(&mut self, mut handover: Arc<Handover>) {
        if self.spares.len() < SPARES
            && let Some(spare) = Arc::get_mut(&mut handover)
        {
            spare.reset();
            self.spares.push(handover);
        }
    }
}
