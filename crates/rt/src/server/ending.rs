//! How requests end: with an answer, which takes the client's new window along.

use super::event_loop::EventLoop;
use super::job::{Answer, Ended, Origin};
use super::runner::Cut;
use crate::executor::Panicked;
use crate::service::Reply;
use tailwater_control::{Outcome, Reached, Reason, RequestEnd};
use tailwater_core::{Instant, Nanos as _};
use tailwater_marks::Mark;
use tailwater_wire::Fault;

impl<F: Future<Output = Reply>> EventLoop<F> {
    /// A handler has answered, at this time: at a worker, before the loop heard of it.
    pub(super) fn finish(&mut self, ended: Ended, at: Instant) {
        let Ended { origin, started, reply, budget, mark } = ended;
        if !matches!(reply, Ok(Reply::Shed(_))) {
            self.control.served(&origin, at, budget.as_deref());
        }
        let served = request_end(&origin, started, at, Outcome::Served);
        match reply {
            Ok(Reply::Response { status, payload }) => {
                self.respond(&origin, &served, status, &payload);
            }
            Ok(Reply::UnknownMethod) => {
                self.respond(&origin, &served, Fault::UnknownMethod.status(), b"unknown method");
            }
            Err(Panicked) => {
                self.respond(&origin, &served, Fault::Panicked.status(), b"the handler panicked");
            }
            Ok(Reply::Shed(reason)) => {
                let reason = of_handler(reason);
                let done = RequestEnd { outcome: Outcome::Shed(reason), ..served };
                self.conclude(&origin, &done, Answer::Reject(reason));
            }
        }
        self.marked_answer(&origin, mark);
    }

    /// The answer to this request was appended, if its connection is there to have it.
    pub(super) fn marked_answer(&mut self, origin: &Origin, mark: Mark) {
        if let Some(connection) = self.connections.get_mut(origin.key.connection) {
            connection.output.answered(mark);
        }
    }

    /// A handler has run for longer than it may, and was ended. A request that no worker had begun by then is
    /// refused: nothing of it was done.
    pub(super) fn time_out(&mut self, cut: &Cut) {
        if !cut.begun {
            return self.shed(&cut.origin, Reason::Deadline, Reached::Start);
        }
        let why = b"the handler took longer than the server allows";
        let served = self.cut_short(cut, Outcome::Served);
        self.respond(&cut.origin, &served, Fault::HandlerTimeout.status(), why);
        self.totals.timed_out += 1;
    }

    /// A request that ran, or waited for a worker, was cancelled by its client.
    pub(super) fn refuse_cut(&mut self, cut: &Cut) {
        if !cut.begun {
            return self.shed(&cut.origin, Reason::Cancelled, Reached::Start);
        }
        let done = self.cut_short(cut, Outcome::Shed(Reason::Cancelled));
        self.conclude(&cut.origin, &done, Answer::Reject(Reason::Cancelled));
    }

    /// The end of a handler that is ended now.
    fn cut_short(&self, cut: &Cut, outcome: Outcome) -> RequestEnd {
        request_end(&cut.origin, cut.started, self.clock.now(), outcome)
    }

    fn respond(&mut self, origin: &Origin, served: &RequestEnd, status: u16, payload: &[u8]) {
        self.conclude(origin, served, Answer::Response { status, payload });
    }

    /// Tells the controller how a request ended, and the client. A request whose connection is gone, or has
    /// been said goodbye to, ended with it.
    pub(super) fn conclude(&mut self, origin: &Origin, done: &RequestEnd, answer: Answer<'_>) {
        let (now, key) = (self.clock.now(), origin.key.connection);
        let Some(connection) = self.connections.get_mut(key).filter(|it| it.is_answered()) else {
            return;
        };
        connection.work.pending -= 1;
        self.unanswered -= 1;
        connection.work.bytes -= origin.bytes;
        connection.offer = self.control.done(now, key.session(), done);
        self.control.sent(now, connection);
        // The controller has not heard of the time that it was parked. For the client that was no service either.
        let waited = origin.ready.since(origin.arrived) + done.waited;
        self.egress.answer(connection, origin, now, waited, answer);
        self.totals.frames_out += 1;
        match answer {
            Answer::Response { .. } => {
                self.totals.served += 1;
                self.totals.waited_ns += waited.nanos();
            }
            Answer::Reject(reason) => self.totals.count_shed(reason),
        }
    }
}

/// The end of a request whose handler ran from `started` to `ended`.
fn request_end(origin: &Origin, started: Instant, ended: Instant, outcome: Outcome) -> RequestEnd {
    let (waited, service) = (started.since(origin.ready), ended.since(started));
    RequestEnd { outcome, reached: Reached::Handler, waited, service, class: origin.class }
}

/// The reason that a handler's client hears. Only the runtime knows that this server goes away: such a client sends it nothing more,
/// and may have the request, which has begun, carried out elsewhere.
const fn of_handler(reason: Reason) -> Reason {
    match reason {
        Reason::Draining => Reason::Unavailable,
        reason => reason,
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::testing::{at, event_loop, job, open};
    use super::*;
    use crate::config::ServerConfig;
    use crate::counters::Totals;
    use std::sync::mpsc::{Sender, channel};
    use std::sync::{Arc, Mutex};
    use std::time::Duration;
    use tailwater_control::{Admission, Arrival, Gauges, Offer, Shard, Verdict};
    use tailwater_core::{Observer, SessionId};

    /// Admits everything, and tells how it ended.
    struct Tells(Mutex<Sender<RequestEnd>>);

    impl Admission for Tells {
        fn name(&self) -> &'static str {
            "tells"
        }
        fn shard(self: Arc<Self>, _: usize) -> Box<dyn Shard> {
            Box::new(TellsShard(self.0.lock().unwrap().clone()))
        }
        fn gauges(&self) -> Gauges {
            Gauges::default()
        }
    }

    struct TellsShard(Sender<RequestEnd>);

    impl Shard for TellsShard {
        fn on_request(
            &mut self,
            _: Instant,
            _: SessionId,
            _: &Arrival,
            _: Duration,
            _: &mut dyn Observer,
        ) -> Verdict {
            Verdict::Admit
        }
        fn on_done(&mut self, _: Instant, _: SessionId, done: &RequestEnd) -> Offer {
            self.0.send(*done).unwrap();
            Offer::OPEN
        }
    }

    /// A request that a worker has had from its second to its fifth millisecond comes back at some time. Refused by its
    /// handler, as for a tier that refused it, it has a time in the handler, too: without one, no handler ran.
    #[test]
    fn the_way_back_from_a_worker_is_no_service() {
        for reply in [Reply::ok(Vec::new()), Reply::Shed(Reason::Delay)] {
            let done = told_of(reply, at(5));
            assert_eq!((done.waited, done.service), (ms(1), ms(3)));
        }
    }

    /// A clock that is read once says that it took no time.
    #[test]
    fn a_handler_that_refuses_at_once_was_begun() {
        let done = told_of(Reply::Shed(Reason::Delay), at(2));
        assert_eq!((done.service, done.reached), (Duration::ZERO, Reached::Handler));
    }

    #[test]
    fn a_handler_cannot_say_that_this_server_goes_away() {
        for (said, told) in
            [(Reason::Draining, Reason::Unavailable), (Reason::Deadline, Reason::Deadline)]
        {
            let done = told_of(Reply::Shed(said), at(5));
            assert_eq!(done.outcome, Outcome::Shed(told), "{said:?}");
        }
    }

    /// One that was refused had waited, too, and is not among those that were answered.
    #[test]
    fn how_long_the_answered_had_waited_is_counted() {
        let (_, answered) = ended(Reply::ok(Vec::new()), at(5));
        assert_eq!((answered.served, answered.waited_ns), (1, 1_000_000));
        let (_, refused) = ended(Reply::Shed(Reason::Delay), at(5));
        assert_eq!((refused.served, refused.waited_ns), (0, 0));
    }

    /// It arrived at the first millisecond, was parked, and was recalled just before its worker began at the second.
    #[test]
    fn what_was_parked_has_waited_and_its_controller_hears_of_its_queue_alone() {
        let origin = Origin { bytes: 0, ready: at(2), ..job(0, 1, 1).origin };
        let (done, totals) = ended_from(origin, Reply::ok(Vec::new()), at(5));
        assert_eq!((done.waited, totals.waited_ns), (Duration::ZERO, 1_000_000));
    }

    fn told_of(reply: Reply, handled: Instant) -> RequestEnd {
        ended(reply, handled).0
    }

    fn ended(reply: Reply, handled: Instant) -> (RequestEnd, Totals) {
        ended_from(Origin { bytes: 0, ..job(0, 1, 1).origin }, reply, handled)
    }

    fn ended_from(origin: Origin, reply: Reply, handled: Instant) -> (RequestEnd, Totals) {
        let (tells, told) = channel();
        let admission = Arc::new(Tells(Mutex::new(tells)));
        let mut event_loop: EventLoop<std::future::Pending<Reply>> =
            event_loop(ServerConfig::default(), admission);
        let (connection, _client) = open(&mut event_loop.connections);
        connection.work.pending = 1;
        event_loop.unanswered = 1;
        let reply = Ok(reply);
        let ended = Ended { origin, started: at(2), reply, budget: None, mark: Mark::new() };
        event_loop.finish(ended, handled);
        (told.try_recv().unwrap(), event_loop.totals)
    }

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }
}
