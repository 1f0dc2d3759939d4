//! One loop's life: turn after turn, each in the order that [`EventLoop::turn`] says.

use super::Remaining;
use super::acceptor::Acceptor;
use super::clock::Clock;
use super::connections::Connections;
use super::control::Control;
use super::drain::Drain;
use super::egress::Egress;
use super::inbox::{Inbox, Questions};
use super::intake::{FRAMES_PER_GO, Intake};
use super::liveness::Liveness;
use super::model::Followed;
use super::run_queue::RunQueue;
use super::runner::{Inline, Pool, Runner, Workers};
use super::shared::Shared;
use crate::config::{Model, Placement};
use crate::counters::Totals;
use crate::downstream::{Downstream, Hold, Trunk};
use crate::net::Listener;
use crate::poll::{Interest, Poller};
use crate::service::{Reply, Service};
use crate::timers::{Timers, install_timers};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tailwater_core::{Instant, Nanos as _, Observer};
use tailwater_wire::Credit;

/// Keys of the poller that are not connections: no slot has such a number.
pub(super) const LISTENER: u64 = u64::MAX;
pub(super) const BELL: u64 = u64::MAX - 1;
/// The longest that a handler holds its loop for the calls of all its fans: then they go on asynchronously. Clients give a
/// server up that answers no PING for some seconds, and the first loop lets all of them in.
const HELD_MAX: Duration = Duration::from_secs(1);
/// Requests that a turn ends at most because workers bring their answers, and as many because their handlers are overdue: as many
/// as a connection may bring in one go. Of thousands that end together the rest is due in the next turn, behind the sockets.
const ENDS_PER_TURN: usize = FRAMES_PER_GO;
/// How often the counts are published while busy.
const PUBLISH_EVERY: Duration = Duration::from_millis(1);

/// The stages of one loop, each of which owns its state, and what they share.
pub(super) struct EventLoop<F> {
    pub(super) shared: Arc<Shared>,
    pub(super) index: usize,
    pub(super) clock: Clock,
    pub(super) poller: Poller,
    pub(super) acceptor: Option<Acceptor>,
    pub(super) connections: Connections,
    pub(super) intake: Intake,
    pub(super) control: Control,
    pub(super) queue: RunQueue,
    pub(super) runner: Runner<F>,
    pub(super) timers: Rc<Timers>,
    /// `None` without tiers.
    pub(super) downstream: Option<Downstream>,
    pub(super) egress: Egress,
    pub(super) liveness: Liveness,
    pub(super) drain: Drain,
    pub(super) totals: Totals,
    /// Requests of all connections that are not answered.
    pub(super) unanswered: u64,
    /// The reporter takes questions for the server's counts.
    pub(super) questions: Questions,
    published_at: Instant,
    pub(super) followed: Followed,
}

/// What a loop is given at its start.
pub(super) struct Start {
    pub(super) shared: Arc<Shared>,
    pub(super) index: usize,
    pub(super) poller: Poller,
    /// The way to other tiers, if there are any.
    pub(super) trunk: Option<Trunk>,
    /// The first loop lets clients in.
    pub(super) listener: Option<Listener>,
    pub(super) pool: Option<Arc<Pool>>,
    pub(super) questions: Questions,
}

impl<F: Future<Output = Reply>> EventLoop<F> {
    pub(super) fn new(start: Start, observer: Box<dyn Observer + Send>) -> Self {
        let Start { shared, index, poller, trunk, listener, pool, questions } = start;
        let config = &shared.config;
        let doorbell = shared.inboxes[index].doorbell.clone();
        let (tasks, budgets) = (config.tasks_max, config.locks.is_some());
        let workers = pool.map(|pool| Workers::new(pool, index));
        let inline = Inline::new(doorbell, tasks, budgets);
        let runner = Runner::new(inline, workers, config.handler_max);
        let (over, handler_max) = (shared.clone(), config.handler_max.unwrap_or(HELD_MAX));
        let hold = Hold {
            longest: handler_max.min(HELD_MAX),
            is_called: Box::new(move |time| over.is_over(time)),
        };
        let clock = Clock::new(config.drain_every);
        let shard = shared.admission.clone().shard(index);
        let first = shared.models.present();
        let mut it = Self {
            index,
            poller,
            acceptor: listener.map(Acceptor::new),
            connections: Connections::default(),
            // Each loop has an equal share of what is bounded over all connections.
            intake: Intake::new(config.input_total_max / config.loops),
            control: Control::new(shard, observer, config.locks),
            queue: RunQueue::new(config.queue_max),
            runner,
            timers: install_timers(),
            downstream: trunk.map(|it| Downstream::install(&config.tiers, it, hold)),
            egress: Egress::new(config.output_high, config.output_total_max / config.loops),
            liveness: Liveness::new(config),
            drain: Drain::default(),
            totals: Totals::default(),
            unanswered: 0,
            questions,
            published_at: clock.now(),
            followed: Followed::default(),
            clock,
            shared,
        };
        it.follow(0, first);
        it
    }

    /// What begins from now on begins by the model of this epoch.
    fn follow(&mut self, epoch: u64, model: Model) {
        self.followed = Followed::new(epoch, model, &self.shared.config);
        self.runner.set_dispatch(model.placement != Placement::Inline);
        if let Some(downstream) = &self.downstream {
            downstream.set_completion(model.completion);
        }
    }

    /// Follows the server's model, if it has changed.
    fn look_at_model(&mut self) {
        if let Some((epoch, model)) = self.shared.models.news(self.followed.epoch()) {
            self.follow(epoch, model);
            self.shared.models.follows(self.index, epoch);
        }
    }

    /// From its first turn to its last. If it panics, its clients are told before the panic goes on.
    pub(super) fn live<S: Service<Future = F>>(mut self, service: &S) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.run(service))) {
            self.abandon();
            resume_unwind(panic);
        }
    }

    fn run<S: Service<Future = F>>(&mut self, service: &S) {
        if let Some(&core) = self.shared.config.cores.get(self.index) {
            // Tried before the thread started; it can only fail if the core vanished since.
            let _ = crate::cpu::pin(core);
        }
        self.watch_own_sources();
        while !self.turn(service) {}
        self.publish(true);
    }

    /// One turn. True if it was the last.
    fn turn<S: Service<Future = F>>(&mut self, service: &S) -> bool {
        self.look_at_model();
        let mut worked = self.take_in(service);
        worked |= self.collect();
        self.accept_again();
        self.timers.fire(self.clock.now());
        // The answers that came, ahead of the handlers that wait for them; then the calls of those.
        worked |= self.call_downstream();
        worked |= self.run_queue(service);
        worked |= self.call_downstream();
        self.end_overdue();
        self.prune();
        self.flush_dirty();
        self.tick();
        self.sweep();
        if worked {
            self.clock.worked();
            let slept = self.downstream.as_ref().map_or(Duration::ZERO, Downstream::take_slept);
            self.totals.busy_ns += self.clock.turn_ns().saturating_sub(slept.nanos());
        }
        self.publish(false);
        self.drain()
    }

    /// The loop's calls to other tiers have their turn. True if there was something to do.
    fn call_downstream(&mut self) -> bool {
        let worked = self.downstream.as_ref().is_some_and(|it| it.turn(self.clock.now()));
        if worked {
            // It is no handler's time.
            self.clock.look();
        }
        worked
    }

    fn watch_own_sources(&self) {
        // A fresh poller takes two descriptors unless the kernel is out of memory, and then the
        // loop would be deaf: better to die loudly.
        self.poller.add_bell(&self.inbox().bell, BELL).expect("the loop's bell can be watched");
        if let Some(acceptor) = &self.acceptor {
            self.poller
                .add(&acceptor.listener, LISTENER, Interest::READ)
                .expect("the listener can be watched");
        }
    }

    pub(super) fn inbox(&self) -> &Inbox {
        &self.shared.inboxes[self.index]
    }

    /// What other threads have left.
    fn collect(&mut self) -> bool {
        let mut worked = false;
        while let Some(stream) = self.inbox().take_stream() {
            self.adopt(stream);
            worked = true;
        }
        for _ in 0..ENDS_PER_TURN {
            let Some(done) = self.inbox().done.pop() else { break };
            worked = true;
            if let Some(landed) = self.runner.collect(done, &mut self.connections) {
                self.land(landed);
            }
        }
        while let Some(report) = self.inbox().reports.pop() {
            worked = true;
            self.tell(report);
        }
        worked
    }

    /// Ends handlers that have run for longer than they may.
    fn end_overdue(&mut self) {
        for _ in 0..ENDS_PER_TURN {
            let now = self.clock.now();
            let Some(cut) = self.runner.cut_overdue(now, &mut self.connections) else { break };
            self.time_out(&cut);
            self.settle(cut.origin.key.connection);
        }
    }

    /// Tells the controller the delay and carries out its wishes.
    fn tick(&mut self) {
        let now = self.clock.now();
        self.control.tick(now, self.queue.delay(now));
        while let Some((session, offer)) = self.control.wish(now) {
            let Some(connection) = self.connections.of_session(session) else { continue };
            connection.offer = offer;
            self.control.sent(now, connection);
            let credit = Credit { grant: super::egress::grant(offer), stamp: now.stamp() };
            credit.encode(connection.output.buffer());
            let key = connection.key;
            self.totals.credit_frames += 1;
            self.totals.frames_out += 1;
            self.flush(key);
        }
    }

    /// How long the loop may wait for the kernel; zero while there is something to do.
    pub(super) fn timeout(&mut self) -> Option<Duration> {
        if self.followed.spins(self.clock.idle()) || self.has_work() {
            return Some(Duration::ZERO);
        }
        self.publish(true);
        self.inbox().doorbell.lie_down();
        let begins_to_drain = !self.drain.has_begun() && self.shared.draining_until().is_some();
        if self.has_work() || begins_to_drain {
            self.inbox().doorbell.get_up();
            return Some(Duration::ZERO);
        }
        let now = self.clock.now();
        [
            self.control.next_tick(now),
            self.timers.next(),
            self.downstream.as_ref().and_then(Downstream::next_due),
            self.runner.next_due(),
            self.liveness.next(),
            self.queue.prune_due(),
            self.acceptor.as_ref().and_then(Acceptor::next_due),
            self.drain.next_due(now),
        ]
        .into_iter()
        .flatten()
        .min()
        .map(|at| at.since(now))
        .inspect(|timeout| {
            // Something is due already, so that the wait will be no sleep.
            if timeout.is_zero() {
                self.inbox().doorbell.get_up();
            }
        })
    }

    fn has_work(&self) -> bool {
        let is_asked = self.shared.models.epoch() != self.followed.epoch();
        let calls = self.downstream.as_ref().is_some_and(Downstream::has_work);
        let queue_moves = !self.queue.is_empty() && self.runner.await_room();
        let woken = self.runner.has_woken() || !self.inbox().is_empty();
        is_asked || queue_moves || woken || self.intake.has_work() || calls
    }

    pub(super) fn publish(&mut self, at_once: bool) {
        let now = self.clock.now();
        if at_once || now.since(self.published_at) >= PUBLISH_EVERY {
            self.published_at = now;
            self.totals.spared = self.control.spared();
            let connections = self.connections.len() as u64;
            let left = Remaining { connections, unanswered: self.unanswered };
            self.shared.publish(self.index, &self.totals, left);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::inbox::{Done, Unbegun};
    use super::super::key::FlightKey;
    use super::super::testing::{event_loop, job, open};
    use super::*;
    use crate::config::ServerConfig;
    use crate::service::Request;
    use std::future::{Pending, pending};
    use tailwater_control::Site;
    use tailwater_control::catalog::Spec;

    const ALL: u64 = ENDS_PER_TURN as u64 + 44;

    fn loop_of(config: ServerConfig) -> EventLoop<Pending<Reply>> {
        let none = Spec::named("none").build(&Site::one_loop(Duration::from_millis(1), 0)).unwrap();
        event_loop(config, none.admission)
    }

    /// As where a tier hangs that thousands of handlers wait for.
    #[test]
    fn handlers_that_are_overdue_together_end_in_several_turns() {
        let handler_max = Some(Duration::from_nanos(1));
        let mut it = loop_of(ServerConfig { handler_max, ..ServerConfig::default() });
        let (connection, _client) = open(&mut it.connections);
        let key = connection.key;
        for id in 0..ALL {
            let mut job = job(0, id, 1);
            job.origin.key.connection = key;
            let work = &mut it.connections.get_mut(key).unwrap().work;
            (work.pending, work.queued) = (work.pending + 1, work.queued + 1);
            work.bytes += job.origin.bytes;
            it.unanswered += 1;
            it.queue.push(job);
        }
        let hang = |_: Request| pending();
        while !it.queue.is_empty() {
            it.clock.begin_turn(false);
            it.run_queue(&hang);
        }
        it.clock.look();
        it.end_overdue();
        assert_eq!(it.totals.timed_out, ENDS_PER_TURN as u64);
        assert_eq!(it.timeout(), Some(Duration::ZERO), "the rest is due");
        it.end_overdue();
        assert_eq!((it.totals.timed_out, it.unanswered), (ALL, 0));
    }

    #[test]
    fn answers_that_workers_bring_together_are_taken_in_several_turns() {
        let mut it = loop_of(ServerConfig::default());
        for number in 0..ALL {
            let flight = FlightKey::new(0, number);
            it.inbox().done.push(Done { flight, end: Err(Unbegun::Cancelled) });
        }
        assert!(it.collect() && !it.inbox().is_empty());
        assert_eq!(it.timeout(), Some(Duration::ZERO), "the rest is there");
        assert!(it.collect() && it.inbox().is_empty());
    }
}
