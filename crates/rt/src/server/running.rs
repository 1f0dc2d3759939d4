//! Requests have their turn: the last word about each, and then its handler.

use super::connection::Connection;
use super::egress::Egress;
use super::event_loop::EventLoop;
use super::job::Job;
use super::key::ConnectionKey;
use super::runner::Landed;
use crate::downstream::Downstream;
use crate::service::{Reply, Service};
use tailwater_control::{Reached, Reason};
use tailwater_core::Instant;

/// What becomes of a request at its turn.
enum Turn {
    /// Its handler begins.
    Start,
    /// It waits at its connection.
    Park,
    /// It is refused, having come so far.
    Refuse(Reason, Reached),
    /// Its connection is gone.
    Forget,
}

impl<F: Future<Output = Reply>> EventLoop<F> {
    /// Runs the requests that one connection has just brought, while nothing else waits for the loop: no
    /// woken handler and no timer that is due either. A handler that waits for a timer may hold a lock. The connection's go began
    /// at `began`: one that brings many requests must not keep the loop from its other sockets while it sends each answer alone.
    pub(super) fn run_hot<S: Service<Future = F>>(&mut self, service: &S, began: Instant) {
        while !self.clock.handlers_and_sends_had_their_share(began)
            && !self.runner.has_woken()
            && self.timers.next().is_none_or(|at| at > self.clock.now())
            && self.start_next(service).is_some()
        {}
    }

    /// Runs handlers until they have had their share of this turn or nothing is left. At least one woken
    /// handler and one queued request get their turn, unless requests that were hot have had the share: the
    /// sockets are looked at before another handler begins.
    pub(super) fn run_queue<S: Service<Future = F>>(&mut self, service: &S) -> bool {
        if self.clock.handlers_had_their_share() {
            return false;
        }
        let (mut worked, began) = (false, self.clock.now());
        loop {
            let resumed = self.resume();
            let started = self.start_next(service);
            started.into_iter().for_each(|key| self.settle(key));
            let went_on = resumed || started.is_some();
            worked |= went_on;
            // What holds a lock until a timer, or is to give up in a queue, must not wait for a turn's end.
            self.timers.fire(self.clock.now());
            if !went_on || self.clock.handlers_and_sends_had_their_share(began) {
                return worked;
            }
        }
    }

    /// A handler is about to be polled on this thread. If it may hold the loop, what is ready must not wait for its end.
    fn let_answers_go(&mut self) {
        if self.downstream.as_ref().is_some_and(Downstream::may_be_held) {
            self.flush_dirty();
        }
    }

    fn resume(&mut self) -> bool {
        if self.runner.has_woken() {
            self.let_answers_go();
        }
        let before = self.clock.now();
        let Some(polled) = self.runner.resume(&mut self.connections) else {
            return false;
        };
        self.totals.handler_ns += self.clock.handled_since(before);
        if let Some(ended) = polled {
            self.land(Landed::Ended(ended, self.clock.now()));
        }
        true
    }

    /// A request has ended on its thread: a worker, or this loop.
    pub(super) fn land(&mut self, landed: Landed) {
        let key = match landed {
            Landed::Ended(ended, at) => {
                let key = ended.origin.key.connection;
                self.finish(ended, at);
                key
            }
            Landed::Late(origin) => {
                self.shed(&origin, Reason::Deadline, Reached::Start);
                origin.key.connection
            }
        };
        self.settle(key);
    }

    /// The next request has its turn, if there is one and a place for it. Its connection.
    fn start_next<S: Service<Future = F>>(&mut self, service: &S) -> Option<ConnectionKey> {
        if self.queue.is_empty() {
            return None;
        }
        if self.runner.is_inline() {
            self.let_answers_go();
        }
        // Reserved before the controller has its last word: what it admits is then always started.
        if !self.runner.reserve() {
            return None;
        }
        let job = self.queue.pop()?;
        let key = job.origin.key.connection;
        match self.turn_of(&job) {
            Turn::Start => {
                self.start(job, service);
                return Some(key);
            }
            Turn::Park => self.park(job),
            Turn::Refuse(reason, reached) => self.shed(&job.origin, reason, reached),
            Turn::Forget => {}
        }
        if self.runner.release() {
            self.shared.wake_loops();
        }
        Some(key)
    }

    /// Decides what becomes of a request at its turn, and counts it off the queue.
    fn turn_of(&mut self, job: &Job) -> Turn {
        let (now, id) = (self.clock.now(), job.origin.key.id);
        let Some(connection) = self.connections.get_mut(job.origin.key.connection) else {
            return Turn::Forget;
        };
        if !connection.is_answered() {
            return Turn::Forget;
        }
        connection.work.off_queue(job);
        let left = job.time_left(now);
        if connection.work.was_cancelled(id) {
            return Turn::Refuse(Reason::Cancelled, Reached::Queue);
        }
        if self.shared.config.enforce_deadlines && left.is_some_and(|left| left.is_zero()) {
            return Turn::Refuse(Reason::Deadline, Reached::Queue);
        }
        let behind = !job.recalled && !connection.work.parked.is_empty();
        if behind || !may_start(connection, self.followed.tasks_per_connection(), &self.egress) {
            return self.park_or_refuse(job);
        }
        match self.control.start(now, &job.origin, left) {
            Ok(()) => Turn::Start,
            Err(reason) => Turn::Refuse(reason, Reached::Start),
        }
    }

    fn park_or_refuse(&self, job: &Job) -> Turn {
        if self.queue.may_park(job) {
            Turn::Park
        } else {
            Turn::Refuse(Reason::QueueFull, Reached::Queue)
        }
    }

    fn start<S: Service<Future = F>>(&mut self, job: Job, service: &S) {
        let (before, key) = (self.clock.now(), job.origin.key.connection);
        let Some(connection) = self.connections.get_mut(key) else { return };
        let ended = self.runner.start(job, before, &mut connection.work, service);
        if self.runner.is_inline() {
            self.totals.handler_ns += self.clock.handled_since(before);
        }
        if let Some(ended) = ended {
            self.finish(ended, self.clock.now());
        }
    }

    /// A request waits at its connection until that may have more handlers.
    fn park(&mut self, job: Job) {
        let Some(connection) = self.connections.get_mut(job.origin.key.connection) else { return };
        self.queue.park(&job);
        let parked = &mut connection.work.parked;
        if job.recalled { parked.push_front(job) } else { parked.push_back(job) }
    }

    /// The first request that is parked at a connection waits for its turn again, if it could be started.
    /// One at a time: others have their turn in between.
    pub(super) fn recall(&mut self, key: ConnectionKey) {
        let now = self.clock.now();
        let Some(connection) = self.connections.get_mut(key) else { return };
        if !may_start(connection, self.followed.tasks_per_connection(), &self.egress) {
            return;
        }
        let work = &mut connection.work;
        if work.recalled {
            return;
        }
        let Some(mut job) = work.next_parked() else { return };
        self.queue.unpark(&job);
        (job.recalled, job.origin.ready) = (true, now);
        (work.recalled, work.queued) = (true, work.queued + 1);
        self.queue.push(job);
    }

    /// Refuses the requests that were cancelled while they waited: it may be long until they have a turn.
    pub(super) fn prune(&mut self) {
        let began = self.clock.now();
        if self.queue.prune_due().is_none_or(|at| at > began) {
            return;
        }
        let keys = self.queue.take_cancelling();
        let connections = &mut self.connections;
        let mut out = self.queue.take_out(|job| {
            let connection = connections.get_mut(job.origin.key.connection);
            connection.is_some_and(|it| it.work.take_cancelled_queued(job))
        });
        for &key in &keys {
            let Some(connection) = self.connections.get_mut(key) else { continue };
            let parked = connection.work.take_cancelled_parked();
            parked.iter().for_each(|job| self.queue.unpark(job));
            connection.work.forget_cancelled();
            out.extend(parked);
        }
        let now = self.clock.look();
        self.queue.pruned(began, now);
        for job in &out {
            self.shed(&job.origin, Reason::Cancelled, Reached::Queue);
        }
        keys.into_iter().for_each(|key| self.settle(key));
    }
}

/// Whether a connection may have one more handler: not while it leaves its answers unread, or has `most` of
/// them.
fn may_start(connection: &Connection, most: usize, egress: &Egress) -> bool {
    connection.work.running() < most && egress.has_room(connection)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::testing::{event_loop, job, open};
    use super::*;
    use crate::client::ChannelConfig;
    use crate::config::ServerConfig;
    use crate::downstream::TierConfig;
    use crate::net::{Stream, Transfer};
    use crate::service::Request;
    use std::cell::RefCell;
    use std::future::{poll_fn, ready};
    use std::task::{Poll, Waker};
    use std::time::Duration;
    use tailwater_control::Site;
    use tailwater_control::catalog::Spec;

    thread_local! {
        /// Of handlers that wait.
        static WAITING: RefCell<Vec<Waker>> = const { RefCell::new(Vec::new()) };
    }

    /// Waits until it is woken.
    async fn waits(_: Request) -> Reply {
        let mut waits = true;
        poll_fn(|context| {
            WAITING.with_borrow_mut(|all| all.push(context.waker().clone()));
            if std::mem::replace(&mut waits, false) { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
        Reply::ok(Vec::new())
    }

    fn begin<F: Future<Output = Reply>>(
        it: &mut EventLoop<F>,
        key: ConnectionKey,
        id: u64,
        service: &impl Service<Future = F>,
    ) {
        put(it, key, id);
        assert_eq!(it.start_next(service), Some(key));
    }

    fn put<F: Future<Output = Reply>>(it: &mut EventLoop<F>, key: ConnectionKey, id: u64) {
        let mut job = job(0, id, 1);
        job.origin.key.connection = key;
        let work = &mut it.connections.get_mut(key).unwrap().work;
        (work.pending, work.queued) = (work.pending + 1, work.queued + 1);
        work.bytes += job.origin.bytes;
        it.unanswered += 1;
        it.queue.push(job);
    }

    fn loop_of<F: Future<Output = Reply>>(_: &impl Service<Future = F>) -> EventLoop<F> {
        let site = Site::one_loop(Duration::from_millis(1), 0);
        let none = Spec::named("none").build(&site).unwrap();
        event_loop(ServerConfig::default(), none.admission)
    }

    thread_local! {
        /// A client's end of its connection, which has read nothing.
        static CLIENT: RefCell<Option<Stream>> = const { RefCell::new(None) };
        /// Of each handler that looked: something had come there.
        static SEEN: RefCell<Vec<bool>> = const { RefCell::new(Vec::new()) };
    }

    /// Looks for an answer, for as long as the kernel may need to bring one.
    fn look() {
        let came = CLIENT.with_borrow(|client| {
            let client = client.as_ref().expect("the test has left it here");
            (0..10_000).any(|_| matches!(client.read(&mut [0; 1 << 10]), Transfer::Bytes(_)))
        });
        SEEN.with_borrow_mut(|seen| seen.push(came));
    }

    /// What its clients got, of two handlers of one connection that end in one turn, until each went on for the last time.
    fn seen_by<F: Future<Output = Reply>>(
        model: &str,
        service: &impl Service<Future = F>,
    ) -> Vec<bool> {
        let leaf = ChannelConfig::new("127.0.0.1:1".parse().unwrap());
        let tiers = vec![TierConfig::new("leaf", vec![leaf])];
        let config =
            ServerConfig { model: model.parse().unwrap(), tiers, ..ServerConfig::default() };
        let none = Spec::named("none").build(&Site::one_loop(Duration::from_millis(1), 0)).unwrap();
        let mut it: EventLoop<F> = event_loop(config, none.admission);
        let (connection, client) = open(&mut it.connections);
        let key = connection.key;
        CLIENT.set(Some(client));
        (1..=2).for_each(|id| begin(&mut it, key, id, service));
        WAITING.take().iter().for_each(Waker::wake_by_ref);
        while it.resume() {}
        SEEN.take()
    }

    /// A handler that waits for its leaves may hold a loop for a second, and the answer was ready before.
    #[test]
    fn an_answer_that_is_ready_leaves_before_a_handler_that_may_hold_the_loop() {
        let at_once = |_: Request| {
            look();
            ready(Reply::ok(Vec::new()))
        };
        let later = |request: Request| async move {
            waits(request).await;
            look();
            Reply::ok(Vec::new())
        };
        for model in ["sib", "sip", "sib+2"] {
            assert_eq!(seen_by(model, &at_once), [false, true], "{model}: it begins");
            assert_eq!(seen_by(model, &later), [false, true], "{model}: it goes on");
        }
        assert_eq!(seen_by("aib", &at_once), [false, false], "both answers leave together");
    }

    /// A call for each of them cost a server whose clients have four requests under way half of its time.
    #[test]
    fn answers_of_one_connection_that_end_together_leave_together() {
        let mut it = loop_of(&waits);
        let (two, _first) = open(&mut it.connections);
        let two = two.key;
        let (one, _second) = open(&mut it.connections);
        let one = one.key;
        for (key, id) in [(two, 1), (one, 2), (two, 3)] {
            begin(&mut it, key, id, &waits);
        }
        WAITING.take().iter().for_each(Waker::wake_by_ref);
        let mut unsent = || {
            assert!(it.resume(), "a handler is woken");
            [two, one].map(|key| it.connections.get(key).unwrap().output.unsent() > 0)
        };
        assert_eq!(unsent(), [true, false], "the connection's other answer is about to come");
        assert_eq!(unsent(), [true, false], "this connection has no other");
        assert_eq!(unsent(), [false, false]);
    }

    /// Each answer may be sent before the next handler begins. Handlers that do next to nothing would go on for as long as all
    /// sends take.
    #[test]
    fn a_connection_that_brings_many_requests_has_a_bound_of_sends_too() {
        let mut it = loop_of(&waits);
        let (connection, _client) = open(&mut it.connections);
        let key = connection.key;
        put(&mut it, key, 1);
        let share = it.shared.config.drain_every;
        it.run_hot(&waits, it.clock.now() - share * 2);
        assert!(!it.queue.is_empty(), "its sends had their share");
        it.run_hot(&waits, it.clock.now());
        assert!(it.queue.is_empty());
    }

    /// Sends to clients took the handlers' share of a turn, so that a mid-tier sent to its leaves for half as many requests.
    #[test]
    fn a_send_is_no_handlers_time() {
        let mut it = loop_of(&waits);
        let (connection, _client) = open(&mut it.connections);
        let key = connection.key;
        connection.output.buffer().push(0);
        let before = it.clock.now();
        it.flush(key);
        assert!(it.clock.now() > before, "the next handler's time would begin before it");
    }
}
