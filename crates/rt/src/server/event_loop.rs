//! One loop's life: wait, drain sockets, run requests for a bounded time, flush, tick; again.

use super::acceptor::Acceptor;
use super::budgets::Budgets;
use super::connection::{Connection, Phase};
use super::{Job, Shared, nanos};
use crate::config::Reception;
use crate::counters::Totals;
use crate::executor::Executor;
use crate::net::{Listener, Stream};
use crate::poll::{BATCH, Interest, Poller, Readiness};
use crate::service::{Reply, Service};
use crate::time::now;
use crate::timers::{Timers, install_timers};
use crate::worker::{Pool, Ticket};
use slab::Slab;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tailwater_control::{Shard, Wish};
use tailwater_core::{Event, Instant, Observer, SessionId};
use tailwater_wire::{Credit, Limits};

/// Keys of the poller that are not connections.
const LISTENER: u64 = u64::MAX;
const BELL: u64 = u64::MAX - 1;
/// How often connections that owe us something are looked at.
const SWEEP_EVERY: Duration = Duration::from_millis(500);
/// Rounds of asking the kernel in one drain: 64 events each.
const DRAIN_ROUNDS: usize = 256;
/// How often the counts are published while busy.
const PUBLISH_EVERY: Duration = Duration::from_millis(1);

pub(super) struct EventLoop<F> {
    pub(super) shared: Arc<Shared>,
    index: usize,
    poller: Poller,
    acceptor: Option<Acceptor>,
    pub(super) pool: Option<Arc<Pool>>,
    pub(super) connections: Slab<Connection>,
    generation: u32,
    pub(super) shard: Box<dyn Shard>,
    pub(super) observer: Watching,
    pub(super) queue: VecDeque<Job>,
    pub(super) executor: Executor<F, Ticket>,
    pub(super) budgets: Option<Budgets>,
    pub(super) timers: Rc<Timers>,
    pub(super) scratch: Vec<u8>,
    pub(super) dirty: Vec<u32>,
    pub(super) totals: Totals,
    /// The loop's time, read at each step that takes long; everything in between uses it.
    pub(super) now: Instant,
    /// When the sockets were last looked at, before this time: nothing waits there for longer.
    pub(super) looked: Instant,
    /// Handler time since the sockets were last drained.
    pub(super) handled_ns: u64,
    pub(super) drain_every_ns: u64,
    /// When this turn began to cost something: sleeping does not.
    turn_began: Instant,
    last_work: Instant,
    sweep_at: Option<Instant>,
    published_at: Instant,
    pub(super) draining: bool,
}

/// Counts what the controller was kept from doing, and passes everything on.
pub(super) struct Watching {
    outer: Box<dyn Observer + Send>,
    spared: u64,
}

impl Observer for Watching {
    fn on_event(&mut self, now: Instant, event: &Event) {
        self.spared += u64::from(matches!(event, Event::Spared(..)));
        self.outer.on_event(now, event);
    }
}

impl<F: Future<Output = Reply>> EventLoop<F> {
    pub(super) fn new(
        shared: Arc<Shared>,
        index: usize,
        poller: Poller,
        listener: Option<Listener>,
        pool: Option<Arc<Pool>>,
        outer: Box<dyn Observer + Send>,
    ) -> Self {
        let doorbell = shared.inboxes[index].doorbell.clone();
        let start = now();
        Self {
            shard: shared.admission.clone().shard(index),
            executor: Executor::new(
                doorbell,
                shared.config.tasks_max,
                shared.config.locks.is_some(),
            ),
            budgets: shared.config.locks.map(Budgets::new),
            drain_every_ns: nanos(shared.config.drain_every),
            shared,
            index,
            poller,
            acceptor: listener.map(Acceptor::new),
            pool,
            connections: Slab::new(),
            generation: 0,
            observer: Watching { outer, spared: 0 },
            queue: VecDeque::new(),
            timers: install_timers(),
            scratch: vec![0; 64 << 10],
            dirty: Vec::new(),
            totals: Totals::default(),
            now: start,
            looked: start,
            handled_ns: 0,
            turn_began: start,
            last_work: start,
            sweep_at: None,
            published_at: start,
            draining: false,
        }
    }

    pub(super) const fn index(&self) -> usize {
        self.index
    }

    pub(super) const fn poller(&self) -> &Poller {
        &self.poller
    }

    pub(super) fn run<S: Service<Future = F>>(mut self, service: &S) {
        if let Some(&core) = self.shared.config.cores.get(self.index) {
            // Tried before the thread started; it can only fail if the core vanished since.
            let _ = crate::cpu::pin(core);
        }
        self.watch_own_sources();
        let mut ready = Vec::new();
        loop {
            let mut worked = self.drain(service, &mut ready);
            worked |= self.collect_inbox();
            self.accept_again();
            self.timers.fire(self.now);
            worked |= self.execute(service);
            self.flush_dirty();
            self.tick();
            self.sweep();
            if worked {
                self.last_work = self.now;
                self.totals.busy_ns += self.now.nanos_since(self.turn_began);
            }
            self.publish(false);
            if self.draining && self.drain_is_over() {
                break;
            }
        }
        self.publish(true);
    }

    fn watch_own_sources(&self) {
        // A fresh poller takes two descriptors unless the kernel is out of memory, and then the
        // loop would be deaf: better to die loudly.
        let bell = &self.shared.inboxes[self.index].bell;
        self.poller.add(bell, BELL, Interest::READ).expect("the loop's bell can be watched");
        if let Some(acceptor) = &self.acceptor {
            self.poller
                .add(&acceptor.listener, LISTENER, Interest::READ)
                .expect("the listener can be watched");
        }
    }

    /// Takes everything that has arrived. Requests that find nothing queued are answered while
    /// their socket is hot, until the handlers have had their share of time.
    fn drain<S: Service<Future = F>>(&mut self, service: &S, ready: &mut Vec<Readiness>) -> bool {
        let timeout = self.patience();
        let sleeps = timeout.is_none_or(|timeout| !timeout.is_zero());
        self.poller.wait(timeout, ready);
        let woke = now();
        if sleeps {
            self.shared.inboxes[self.index].doorbell.get_up();
            // What woke the loop came just now; it was looking all the time until then.
            self.looked = woke;
        }
        self.turn_began = if sleeps { woke } else { self.now };
        self.now = woke;
        self.handled_ns = 0;
        let worked = !ready.is_empty();
        for _ in 0..DRAIN_ROUNDS {
            let full = ready.len() >= BATCH;
            for readiness in ready.drain(..) {
                self.serve(readiness, service);
            }
            if !full {
                break;
            }
            self.poller.wait(Some(Duration::ZERO), ready);
        }
        self.looked = woke;
        worked
    }

    fn serve<S: Service<Future = F>>(&mut self, readiness: Readiness, service: &S) {
        match readiness.key {
            LISTENER => self.accept(),
            BELL => self.shared.inboxes[self.index].bell.hush(),
            key => {
                let key = u32::try_from(key).expect("connection keys are 32 bits wide");
                if readiness.writable {
                    self.flush(key);
                }
                if readiness.readable {
                    self.read(key, service);
                }
            }
        }
    }

    fn accept(&mut self) {
        let Some(acceptor) = &mut self.acceptor else {
            return;
        };
        let accepted = acceptor.accept(self.now, &self.shared);
        if acceptor.rests_until().is_some() {
            // It fails only for a descriptor that is not watched.
            let _ = self.poller.modify(&acceptor.listener, LISTENER, Interest::default());
        }
        self.totals.turned_away += accepted.turned_away;
        for stream in accepted.own {
            self.adopt(stream);
        }
    }

    /// Goes on accepting after a rest.
    fn accept_again(&mut self) {
        if let Some(acceptor) = &mut self.acceptor
            && acceptor.wakes(self.now)
        {
            let _ = self.poller.modify(&acceptor.listener, LISTENER, Interest::READ);
        }
    }

    fn adopt(&mut self, stream: Stream) {
        self.totals.accepted += 1;
        self.generation = self.generation.wrapping_add(1);
        // Strangers get no more than this buffered; HELLO fits.
        let limits = Limits::new(Limits::FLOOR);
        let overdue = self.now + self.shared.config.patience;
        let connection = Connection::new(stream, self.generation, limits, overdue);
        let key = self.connections.insert(connection);
        let watched =
            self.poller.add(&self.connections[key].stream, key as u64, Interest::READ).is_ok();
        let session = SessionId(u32::try_from(key).expect("bounded by connections_max"));
        let offer = self.shard.on_open(self.now, session, &mut self.observer);
        self.connections[key].offer = offer;
        self.sweep_at.get_or_insert(self.now + SWEEP_EVERY);
        if !watched {
            self.close(session.0);
        }
    }

    fn collect_inbox(&mut self) -> bool {
        let mut worked = false;
        while let Some(stream) = self.shared.inboxes[self.index].streams.pop() {
            self.adopt(stream);
            worked = true;
        }
        while let Some(done) = self.shared.inboxes[self.index].done.pop() {
            self.finish(&done.ticket, done.reply, done.ended.unwrap_or(self.now));
            worked = true;
        }
        worked
    }

    /// Forgets a connection at once. Its requests are answered to nobody.
    pub(super) fn close(&mut self, key: u32) {
        if self.connections.try_remove(key as usize).is_some() {
            self.shard.on_close(self.now, SessionId(key), &mut self.observer);
            self.shared.connections.fetch_sub(1, Relaxed);
            self.totals.closed += 1;
        }
    }

    /// The age of the oldest request that waits.
    pub(super) fn delay(&self) -> Duration {
        self.queue.front().map_or(Duration::ZERO, |job| self.now.since(job.arrived))
    }

    /// Tells the controller the delay and carries out its wishes.
    fn tick(&mut self) {
        let delay = self.delay();
        self.shard.on_tick(self.now, delay, &mut self.observer);
        while let Some(Wish::Credit(session, offer)) =
            self.shard.poll_wish(self.now, &mut self.observer)
        {
            let Some(connection) = self.connections.get_mut(session.index()) else {
                continue;
            };
            connection.offer = offer;
            let credit = Credit { grant: super::egress::grant(offer), stamp: self.now.stamp() };
            credit.encode(connection.output());
            self.shard.on_sent(self.now, session);
            self.totals.credit_frames += 1;
            self.totals.frames_out += 1;
            self.flush(session.0);
        }
    }

    /// Says goodbye to clients that owe a HELLO, the rest of a frame, a read or their leaving for too
    /// long.
    fn sweep(&mut self) {
        if self.sweep_at.is_none_or(|at| at > self.now) {
            return;
        }
        let overdue: Vec<u32> = self
            .connections
            .iter()
            .filter(|(_, connection)| connection.is_overdue(self.now))
            .map(|(key, _)| key as u32)
            .collect();
        for key in overdue {
            self.give_up_on(key);
        }
        let owes =
            |connection: &Connection| connection.overdue_at.or(connection.rest_due).is_some();
        let owing = self.connections.iter().any(|(_, connection)| owes(connection));
        self.sweep_at = owing.then(|| self.now + SWEEP_EVERY);
    }

    pub(super) fn expect_soon(&mut self) {
        self.sweep_at.get_or_insert(self.now + SWEEP_EVERY);
    }

    /// How long the loop may wait for the kernel; zero while there is something to do.
    fn patience(&mut self) -> Option<Duration> {
        let busy = self.has_work();
        let spins = match self.shared.config.reception {
            Reception::Poll => true,
            Reception::SpinThenBlock(budget) => self.now.since(self.last_work) < budget,
            Reception::Block => false,
        };
        if busy || spins {
            return Some(Duration::ZERO);
        }
        self.publish(true);
        self.shared.inboxes[self.index].doorbell.lie_down();
        if self.has_work() || self.must_begin_to_drain() {
            self.shared.inboxes[self.index].doorbell.get_up();
            return Some(Duration::ZERO);
        }
        let drain = self.draining.then(|| self.now + Duration::from_millis(1));
        let accept = self.acceptor.as_ref().and_then(Acceptor::rests_until);
        [self.shard.next_deadline(self.now), self.timers.next(), self.sweep_at, drain, accept]
            .into_iter()
            .flatten()
            .min()
            .map(|at| at.since(self.now))
    }

    fn has_work(&self) -> bool {
        let queue_moves = match &self.pool {
            None => !self.queue.is_empty() && self.executor.has_room(),
            Some(pool) => !self.queue.is_empty() && pool.await_room(),
        };
        queue_moves || self.executor.has_ready() || !self.shared.inboxes[self.index].is_empty()
    }

    fn publish(&mut self, now: bool) {
        if now || self.now.since(self.published_at) >= PUBLISH_EVERY {
            self.published_at = self.now;
            self.totals.spared = self.observer.spared;
            self.shared.counters[self.index].store(&self.totals);
            if self.must_begin_to_drain() {
                self.begin_to_drain();
            }
        }
    }

    fn must_begin_to_drain(&self) -> bool {
        !self.draining && self.shared.draining_until().is_some()
    }

    fn begin_to_drain(&mut self) {
        self.draining = true;
        self.acceptor = None;
    }

    /// Ends connections that owe nothing; true when none is left or patience is at its end.
    fn drain_is_over(&mut self) -> bool {
        let idle: Vec<u32> = self
            .connections
            .iter()
            .filter(|(_, connection)| connection.pending == 0 && connection.phase != Phase::Closing)
            .map(|(key, _)| key as u32)
            .collect();
        for key in idle {
            self.say_goodbye(key, tailwater_wire::GoodbyeCode::Draining, "the server shuts down");
        }
        let until = self.shared.draining_until().unwrap_or(Instant::ZERO);
        self.connections.is_empty() || now() >= until
    }
}
