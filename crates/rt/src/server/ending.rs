//! How requests end: with an answer, which takes the client's new window along.

use super::event_loop::EventLoop;
use super::job::{Answer, Ended, Origin};
use super::runner::Cut;
use crate::executor::Panicked;
use crate::service::Reply;
use tailwater_control::{Completion, Outcome, Reached, Reason};
use tailwater_core::Instant;
use tailwater_wire::Fault;

impl<F: Future<Output = Reply>> EventLoop<F> {
    /// A handler has answered, at this time.
    pub(super) fn finish(&mut self, ended: Ended, at: Instant) {
        let Ended { origin, started, reply, budget } = ended;
        if !matches!(reply, Ok(Reply::Shed(_))) {
            self.control.served(&origin, at, budget.as_deref());
        }
        match reply {
            Ok(Reply::Response { status, payload }) => {
                self.respond(&origin, started, status, &payload);
            }
            Ok(Reply::UnknownMethod) => {
                self.respond(&origin, started, Fault::UnknownMethod.status(), b"unknown method");
            }
            Err(Panicked) => {
                self.respond(&origin, started, Fault::Panicked.status(), b"the handler panicked");
            }
            Ok(Reply::Shed(reason)) => {
                let done = self.completion(&origin, started, Outcome::Shed(reason));
                self.conclude(&origin, &done, Answer::Reject(reason));
            }
        }
    }

    /// A handler has run for longer than it may, and was ended. A request that no worker had begun by then is
    /// refused: nothing of it was done.
    pub(super) fn time_out(&mut self, cut: &Cut) {
        if !cut.begun {
            return self.shed(&cut.origin, Reason::Deadline, Reached::Start);
        }
        let why = b"the handler took longer than the server allows";
        self.respond(&cut.origin, cut.started, Fault::HandlerTimeout.status(), why);
        self.totals.timed_out += 1;
    }

    /// A request that ran, or waited for a worker, was cancelled by its client.
    pub(super) fn refuse_cut(&mut self, cut: &Cut) {
        if !cut.begun {
            return self.shed(&cut.origin, Reason::Cancelled, Reached::Start);
        }
        let done = self.completion(&cut.origin, cut.started, Outcome::Shed(Reason::Cancelled));
        self.conclude(&cut.origin, &done, Answer::Reject(Reason::Cancelled));
    }

    fn respond(&mut self, origin: &Origin, started: Instant, status: u16, payload: &[u8]) {
        let done = self.completion(origin, started, Outcome::Served);
        self.conclude(origin, &done, Answer::Response { status, payload });
    }

    fn completion(&self, origin: &Origin, started: Instant, outcome: Outcome) -> Completion {
        let service = self.clock.now().since(started);
        let reached = Reached::Start;
        Completion { outcome, reached, waited: started.since(origin.ready), service }
    }

    /// Tells the controller how a request ended, and the client. A request whose connection is gone, or has
    /// been said goodbye to, ended with it.
    pub(super) fn conclude(&mut self, origin: &Origin, done: &Completion, answer: Answer<'_>) {
        let (now, key) = (self.clock.now(), origin.key.connection);
        let Some(connection) = self.connections.get_mut(key).filter(|it| it.is_answered()) else {
            return;
        };
        connection.work.pending -= 1;
        self.unanswered -= 1;
        connection.work.bytes -= origin.bytes;
        connection.offer = self.control.done(now, key.session(), done);
        self.control.sent(now, key.session());
        self.egress.answer(connection, origin, now, done.waited, answer);
        self.totals.frames_out += 1;
        match answer {
            Answer::Response { .. } => self.totals.served += 1,
            Answer::Reject(reason) => self.totals.count_shed(reason),
        }
    }
}
