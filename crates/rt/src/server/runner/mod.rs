//! Running requests: in-line or with workers, and ending them early.

mod flights;
mod inline;
mod member;
mod places;
mod pool;
mod rider;
mod sleep;
mod start;
mod worker;
mod workers;

use super::connections::Connections;
use super::inbox::{Done, End, Unbegun};
use super::job::{Ended, Job, Origin};
use super::key::FlightKey;
use super::work::Work;
use crate::service::{Reply, Service};
use flights::{Flights, Running};
pub(super) use inline::Inline;
pub(super) use member::start_crew;
pub(crate) use pool::Pool;
use std::time::Duration;
use tailwater_core::{Instant, RequestId};
pub(super) use worker::start_workers;
pub(super) use workers::Workers;

/// Owns the requests of a loop that run. A request that is answered or cancelled has left it.
pub(super) struct Runner<F> {
    inline: Inline<F>,
    /// If the server has any.
    workers: Option<Workers>,
    /// Requests begin with the workers from now on. What has begun in-line goes on, and the other way round.
    dispatches: bool,
    flights: Flights,
    /// The longest that a handler may take.
    handler_max: Option<Duration>,
}

/// What a worker has made of a request.
pub(super) enum Landed {
    /// Its handler ended at this time.
    Ended(Ended, Instant),
    /// Its deadline passed before its handler could begin.
    Late(Origin),
}

/// A request that was ended before its handler was done.
pub(super) struct Cut {
    pub(super) origin: Origin,
    /// When it was begun or handed to the workers.
    pub(super) started: Instant,
    /// Its handler was begun. If not, nothing of it was done.
    pub(super) begun: bool,
}

impl<F: Future<Output = Reply>> Runner<F> {
    /// Handlers run on the loop, until [`Runner::set_dispatch`] says otherwise.
    pub(super) fn new(
        inline: Inline<F>,
        workers: Option<Workers>,
        handler_max: Option<Duration>,
    ) -> Self {
        Self { inline, workers, dispatches: false, flights: Flights::default(), handler_max }
    }

    /// Whether requests begin with the workers from now on. Not to be called between a reservation and its use.
    pub(super) const fn set_dispatch(&mut self, dispatches: bool) {
        self.dispatches = dispatches;
    }

    /// The workers, where requests begin with them.
    fn dispatch(&self) -> Option<&Workers> {
        self.workers.as_ref().filter(|_| self.dispatches)
    }

    /// Handlers begin on the loop's own thread.
    pub(super) fn is_inline(&self) -> bool {
        self.dispatch().is_none()
    }

    /// Reserves a place for one request; it is used by [`Runner::start`] or given back.
    pub(super) fn reserve(&self) -> bool {
        self.dispatch().map_or_else(|| self.inline.has_room(), Workers::reserve)
    }

    /// The reserved place is not needed. True if another loop waits for one.
    #[must_use]
    pub(super) fn release(&self) -> bool {
        self.dispatch().is_some_and(Workers::release)
    }

    /// Whether a waiting request could be started now. If not, the loop is woken when one can.
    pub(super) fn await_room(&self) -> bool {
        self.dispatch().map_or_else(|| self.inline.has_room(), Workers::await_room)
    }

    pub(super) fn has_woken(&self) -> bool {
        self.inline.has_woken()
    }

    /// Starts a request by the place that was reserved. `Some` if it has ended.
    pub(super) fn start<S: Service<Future = F>>(
        &mut self,
        job: Job,
        now: Instant,
        work: &mut Work,
        service: &S,
    ) -> Option<Ended> {
        let (origin, key) = (job.origin, self.flights.next_key());
        let running = match self.workers.as_mut().filter(|_| self.dispatches) {
            None => match self.inline.start(job, now, key, service) {
                Ok(ended) => return Some(ended),
                Err(task) => Running::Here(task),
            },
            Some(workers) => Running::There(workers.start(job, key)),
        };
        self.flights.begin(origin, now, running);
        work.run(origin.key.id, key);
        None
    }

    /// Polls the next woken handler. Outer `None`: none is woken; inner: it waits again.
    pub(super) fn resume(&mut self, connections: &mut Connections) -> Option<Option<Ended>> {
        let polled = self.inline.resume()?;
        Some(polled.map(|(key, ended)| {
            if let Some(flight) = self.flights.end(key) {
                leave(&flight.origin, key, connections);
            }
            ended
        }))
    }

    /// A worker has ended a flight. `None` if its request was answered before.
    pub(super) fn collect(&mut self, done: Done, connections: &mut Connections) -> Option<Landed> {
        let flight = self.flights.end(done.flight)?;
        let abandoned = matches!(flight.running, Running::Abandoned(_));
        if !abandoned {
            leave(&flight.origin, done.flight, connections);
        }
        if let (Some(workers), Running::There(handover) | Running::Abandoned(handover)) =
            (&mut self.workers, flight.running)
        {
            workers.give_back(handover);
        }
        if abandoned {
            return None;
        }
        let origin = flight.origin;
        match done.end {
            Ok(End { started, ended, reply, budget, mark }) => {
                Some(Landed::Ended(Ended { origin, started, reply, budget, mark }, ended))
            }
            Err(Unbegun::Late) => Some(Landed::Late(origin)),
            // It was abandoned when it was cancelled.
            Err(Unbegun::Cancelled) => None,
        }
    }

    /// Ends a request that runs, by its id. What it was, for its answer; `None` if none of that id runs.
    pub(super) fn cancel(&mut self, id: RequestId, work: &mut Work) -> Option<Cut> {
        let flight = work.flight(id)?;
        work.end(id, flight);
        self.cut(flight)
    }

    /// Ends a connection's requests that run. They are answered to nobody.
    pub(super) fn cancel_all(&mut self, work: &mut Work) {
        for flight in work.take_running() {
            self.cut(flight);
        }
    }

    /// Ends the oldest request that has run for longer than a handler may.
    pub(super) fn cut_overdue(
        &mut self,
        now: Instant,
        connections: &mut Connections,
    ) -> Option<Cut> {
        let (oldest, started) = self.flights.oldest()?;
        if now < started + self.handler_max? {
            return None;
        }
        leave(&self.flights.get(oldest)?.origin, oldest, connections);
        self.cut(oldest)
    }

    /// When a handler will have run for as long as it may.
    pub(super) fn next_due(&self) -> Option<Instant> {
        Some(self.flights.oldest()?.1 + self.handler_max?)
    }

    fn cut(&mut self, key: FlightKey) -> Option<Cut> {
        let flight = self.flights.get(key)?;
        let (origin, started) = (flight.origin, flight.started);
        let begun = match (&flight.running, &self.workers) {
            (&Running::Here(task), _) => {
                self.flights.end(key);
                self.inline.cancel(task);
                true
            }
            (Running::There(handover), Some(workers)) => {
                let begun = workers.cancel(handover, key);
                self.flights.abandon(key);
                begun
            }
            _ => return None,
        };
        Some(Cut { origin, started, begun })
    }
}

/// A request runs no more at its connection, if that is still there.
fn leave(origin: &Origin, flight: FlightKey, connections: &mut Connections) {
    if let Some(connection) = connections.get_mut(origin.key.connection) {
        connection.work.end(origin.key.id, flight);
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
