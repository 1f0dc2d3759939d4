//! Running jobs: woken tasks and queued requests in turn, for a bounded time.

use super::Job;
use super::event_loop::EventLoop;
use crate::executor::Panicked;
use crate::service::{Reply, Service, status};
use crate::worker::Ticket;
use std::time::Duration;
use tailwater_control::{Completion, Outcome, Reached, Reason, Verdict};
use tailwater_core::{Instant, SessionId};

impl<F: Future<Output = Reply>> EventLoop<F> {
    /// Runs until the handlers' share of this turn is used up or nothing is left. At least one
    /// woken task and one queued request get their turn.
    pub(super) fn execute<S: Service<Future = F>>(&mut self, service: &S) -> bool {
        if self.pool.is_some() {
            return self.dispatch();
        }
        let mut worked = false;
        loop {
            let resumed = self.resume();
            let started = self.start_next(service);
            worked |= resumed || started;
            // Who holds a lock until a timer, or is to give up in a queue, must not wait for a turn's end.
            // While sockets are drained nothing is started beside a timer that is due: see `admit`.
            self.timers.fire(self.now);
            if !(resumed || started) || self.handled_ns >= self.drain_every_ns {
                return worked;
            }
        }
    }

    fn resume(&mut self) -> bool {
        let before = self.now;
        let Some(polled) = self.executor.poll_next() else {
            return false;
        };
        self.look_at_clock();
        self.count_handler_time(before);
        if let Some((ticket, reply)) = polled {
            self.finish(&ticket, reply, self.now);
        }
        true
    }

    fn start_next<S: Service<Future = F>>(&mut self, service: &S) -> bool {
        if !self.executor.has_room() {
            return false;
        }
        let Some(job) = self.queue.pop_front() else {
            return false;
        };
        self.start(job, service);
        true
    }

    /// Starts a job unless its client is gone or the controller refuses it after all.
    pub(super) fn start<S: Service<Future = F>>(&mut self, job: Job, service: &S) {
        let Some(job) = self.last_check(job) else {
            return;
        };
        let before = self.now;
        let ticket = job.ticket(before);
        let finished = self.executor.start(ticket, || service.call(job.request)).finished();
        self.look_at_clock();
        self.count_handler_time(before);
        if let Some((ticket, reply)) = finished {
            self.finish(&ticket, reply, self.now);
        }
    }

    fn count_handler_time(&mut self, before: Instant) {
        let taken = self.now.nanos_since(before);
        self.handled_ns += taken;
        self.totals.handler_ns += taken;
    }

    /// Hands jobs to the worker pool while it has room.
    fn dispatch(&mut self) -> bool {
        let Some(pool) = self.pool.clone() else {
            return false;
        };
        let mut worked = false;
        while pool.has_room()
            && let Some(job) = self.queue.pop_front()
        {
            worked = true;
            let Some(job) = self.last_check(job) else {
                continue;
            };
            if let Err(job) = pool.push(self.index(), job) {
                self.requeue(job);
                break;
            }
        }
        worked
    }

    /// The ring filled under our hands: the job was checked already and goes first next time.
    fn requeue(&mut self, job: Job) {
        if let Some(connection) = self.connections.get_mut(job.connection as usize) {
            connection.queued += 1;
        }
        self.queue.push_front(job);
    }

    fn last_check(&mut self, job: Job) -> Option<Job> {
        let connection = self.connections.get_mut(job.connection as usize)?;
        if connection.generation != job.generation {
            return None;
        }
        connection.queued -= 1;
        let waited = self.now.since(job.arrived);
        let budget = job.request.deadline.map(|deadline| deadline.since(self.now));
        let session = SessionId(job.connection);
        match self.shard.on_start(self.now, session, waited, budget, &mut self.observer) {
            Verdict::Admit => Some(job),
            Verdict::Shed(reason) | Verdict::Close(reason) => {
                connection.pending_bytes -= job.request.payload.len();
                let outcome = Outcome::Shed(reason);
                let (reached, service) = (Reached::Start, Duration::ZERO);
                let done = Completion { outcome, reached, waited, service };
                self.reject(job.connection, job.id, job.arrived, &done, reason);
                self.flush_if_settled(job.connection);
                None
            }
        }
    }

    /// A handler has answered, at `ended`.
    pub(super) fn finish(
        &mut self,
        ticket: &Ticket,
        reply: Result<Reply, Panicked>,
        ended: Instant,
    ) {
        let Some(connection) = self.connections.get_mut(ticket.connection as usize) else {
            return;
        };
        if connection.generation != ticket.generation {
            return;
        }
        connection.pending_bytes -= ticket.bytes;
        let waited = ticket.started.since(ticket.arrived);
        let service = self.now.since(ticket.started);
        match reply
            .unwrap_or_else(|Panicked| Reply::failure(status::PANICKED, "the handler panicked"))
        {
            Reply::Response { status, payload } => {
                if let (Some(budgets), Some(budget)) = (&mut self.budgets, &ticket.budget) {
                    budgets.on_served(ended.since(ticket.arrived), budget);
                }
                let (outcome, reached) = (Outcome::Served, Reached::Start);
                let done = Completion { outcome, reached, waited, service };
                self.respond(ticket, &done, status, &payload);
            }
            Reply::Shed(reason) => self.reject_from_handler(ticket, waited, service, reason),
        }
        self.flush_if_settled(ticket.connection);
    }

    fn reject_from_handler(
        &mut self,
        ticket: &Ticket,
        waited: Duration,
        service: Duration,
        reason: Reason,
    ) {
        let (outcome, reached) = (Outcome::Shed(reason), Reached::Start);
        let done = Completion { outcome, reached, waited, service };
        self.reject(ticket.connection, ticket.id, ticket.arrived, &done, reason);
    }
}
