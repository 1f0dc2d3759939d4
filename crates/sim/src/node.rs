//! The server: cores, a queue of packets, a queue of requests, and the controller's shards.
//!
//! The same walk as in the runtime: a packet waits for a core, is received and parsed, gets its
//! verdict, waits in the queue of requests, runs, and is answered; credits ride on the answer. This
//! file decides what a core does next and does the book-keeping of each step; all that a step tells
//! the controller or asks of it goes through [`Control`]. Requests with locks and calls walk on in
//! `node/walk.rs`; stalls of single cores are in `node/cores.rs`, and what befalls the whole node and
//! its connections in `node/outage.rs`.

mod cores;
mod outage;
pub(crate) mod walk;

use crate::checks::{Rule, queues, signal};
use crate::control::Control;
use crate::slab::Key;
use crate::space::{Answer, Credit, Event, Packet, Space};
use crate::task::Stage;
use crate::world::NodeSpec;
use cores::Core;
use std::collections::VecDeque;
use std::time::Duration;
use tailwater_control::{Completion, Offer, Outcome, Reached, Reason, Verdict};
use tailwater_core::{Instant, Nanos};
use walk::Walk;

pub(crate) struct Node {
    spec: NodeSpec,
    place: Place,
    control: Control,
    /// Only where requests have paths.
    pub(crate) walk: Option<Walk>,
    /// Bounded by what clients send; each entry belongs to a request or client that is accounted for.
    packets: VecDeque<(Instant, Packet)>,
    runnable: VecDeque<Key>,
    /// Those that hold a lock and run before all others; empty unless [`Paths::ahead`](crate::Paths).
    ahead: VecDeque<Key>,
    /// How many of both have begun already and go on; they do not count against the queue's bound,
    /// since whoever let them in cannot send them away.
    woken: usize,
    queue_max: usize,
    /// Credits to be sent; at most one per session, since a session that got one is listed no more.
    outbox: VecDeque<(u32, Offer)>,
    cores: Vec<Core>,
    /// Cores that may be given something; a pause leaves them here, a stall does not.
    idle: Vec<u16>,
    /// Counts restarts, so that what was begun before one ends for nobody.
    life: u16,
    down: bool,
    /// A connection was lost, so that requests of nobody may wait.
    bereft: bool,
    /// Nothing moves before this.
    frozen_until: Instant,
    /// Handler time since packets were last turned to, and how many are to be parsed in this turn.
    handled_ns: u64,
    turn: usize,
    tick_due: Instant,
    armed: Instant,
    pub(crate) counts: Counts,
}

/// What a core is busy with.
#[derive(Clone, Copy, Debug)]
enum Work {
    Parse(Instant, Packet),
    Reject(Key, Reason, Reached),
    Serve(Key),
    /// A part of a path.
    Run(Key, Duration),
    /// The answer at its end.
    Answer(Key),
    Credit(u32, u16, Offer),
}

/// Which node it is, and where its cores begin among those of all.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    pub(crate) node: u16,
    pub(crate) first_core: u16,
}

/// Totals since the beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Counts {
    /// Requests parsed.
    pub(crate) requests: u64,
    /// Messages of any kind.
    pub(crate) rx: u64,
    pub(crate) tx: u64,
    pub(crate) explicit: u64,
    pub(crate) served: u64,
    /// Time that cores were given work for.
    pub(crate) busy_ns: u64,
}

impl Node {
    pub(crate) fn new(spec: NodeSpec, control: Control, place: Place, walk: Option<Walk>) -> Self {
        let cores = spec.cores.max(1) as u16;
        Self {
            cores: (0..cores).map(|_| Core::new()).collect(),
            life: 0,
            down: false,
            bereft: false,
            frozen_until: Instant::ZERO,
            woken: 0,
            queue_max: spec.queue_max as usize,
            // The lowest number is taken first, which matters to nobody but stays the same.
            idle: (0..cores).rev().collect(),
            spec,
            place,
            control,
            walk,
            packets: VecDeque::new(),
            runnable: VecDeque::new(),
            ahead: VecDeque::new(),
            outbox: VecDeque::new(),
            handled_ns: 0,
            turn: 0,
            tick_due: Instant::ZERO,
            armed: Instant::FAR_FUTURE,
            counts: Counts::default(),
        }
    }

    pub(crate) const fn control(&self) -> &Control {
        &self.control
    }

    /// Packets and requests that wait.
    pub(crate) fn queued(&self) -> (usize, usize) {
        (self.packets.len(), self.runnable.len() + self.ahead.len())
    }

    /// A message came in: nobody notices before a core is free.
    pub(crate) fn on_packet(&mut self, now: Instant, packet: Packet, space: &mut Space) {
        if self.down {
            return outage::refuse(now, packet, space);
        }
        self.packets.push_back((now, packet));
        self.assign(now, space);
    }

    pub(crate) fn on_core_done(&mut self, now: Instant, core: u16, life: u16, space: &mut Space) {
        let core = core - self.place.first_core;
        if life != self.life || self.is_held_up(now, core, space) {
            return;
        }
        let Some(work) = self.cores[usize::from(core)].work.take() else {
            let what = || format!("core {core} finished without having begun");
            return space.complain(Rule::Fates, what);
        };
        let follow_up = match work {
            Work::Parse(arrived, packet) => self.parsed(now, arrived, packet, space),
            Work::Reject(key, reason, reached) => {
                self.answer(now, key, (Outcome::Shed(reason), reached), space);
                None
            }
            Work::Run(key, _) => self.walk_on(now, key, space),
            Work::Serve(key) | Work::Answer(key) => {
                self.answer(now, key, (Outcome::Served, Reached::Start), space);
                None
            }
            Work::Credit(client, connection, offer) => {
                self.send_credit(now, client, connection, offer, space);
                None
            }
        };
        match follow_up {
            Some(work) => self.give(now, core, work, space),
            None => self.idle.push(core),
        }
        self.tick(now, space);
        space.judge(Rule::Signal, self.control.signal.check(now, self.spec.tick));
        let finding = queues::bounded("the run queue", self.unbegun(), self.queue_max);
        space.judge(Rule::Queues, finding);
        self.assign(now, space);
    }

    /// The controller's deadline has come. An entry that was replaced by an earlier one is passed
    /// over: if it armed another, each would, and there would be more of them for ever.
    pub(crate) fn on_tick(&mut self, now: Instant, space: &mut Space) {
        if now != self.armed {
            return;
        }
        self.armed = Instant::FAR_FUTURE;
        if self.is_stopped(now) {
            return;
        }
        self.tick_due = now;
        self.tick(now, space);
        self.assign(now, space);
    }

    /// The age of the oldest packet plus that of the oldest request (Breakwater §4).
    pub(crate) fn delay(&self, now: Instant, space: &mut Space) -> Duration {
        let packet = self.packets.front().map_or(0, |&(arrived, _)| now.nanos_since(arrived));
        let request = self
            .runnable
            .front()
            .and_then(|&key| space.requests.get_mut(key))
            .map_or(0, |request| now.nanos_since(request.queued));
        Duration::from_nanos(packet + request)
    }

    /// Tells the controller the delay and carries out its wishes, if the time for it has come, and
    /// makes sure to come back when the controller wants it.
    fn tick(&mut self, now: Instant, space: &mut Space) {
        if now >= self.tick_due {
            self.tick_due = now + self.spec.tick;
            let delay = self.delay(now, space);
            self.control.tick(now, delay, &mut self.outbox, space);
        }
        if let Some(deadline) = self.control.next_deadline(now) {
            // At least a tick ahead: a deadline that has come was served above or soon will be.
            let due = deadline.max(now + self.spec.tick);
            self.control.deadline.on_asked(due);
            if due < self.armed {
                self.armed = due;
                space.calendar.at(due, Event::Tick(self.place.node));
            }
        }
    }

    /// Gives idle cores something to do while there is something.
    fn assign(&mut self, now: Instant, space: &mut Space) {
        if self.is_stopped(now) {
            return self.set_spare(now, false, space);
        }
        while let Some(&core) = self.idle.last() {
            let Some(work) = self.next_work(now, space) else {
                return self.set_spare(now, true, space);
            };
            self.idle.pop();
            self.give(now, core, work, space);
        }
        self.set_spare(now, false, space);
    }

    /// Clients are promised credit while the front has a core to spare.
    fn set_spare(&self, now: Instant, spare: bool, space: &mut Space) {
        if let Some(of_front) = space.spare.get_mut(usize::from(self.place.node)) {
            of_front.set(now, spare);
        }
    }

    /// Admitted requests that wait to run for the first time.
    fn unbegun(&self) -> usize {
        self.runnable.len() + self.ahead.len() - self.woken
    }

    /// Credits first, since they are few and someone waits for each; then packets, unless requests
    /// may go on running ([`NodeSpec::parse_every`]). A turn of parsing ends with the packets that
    /// were there when it began, so that a flood cannot keep requests from running for ever.
    fn next_work(&mut self, now: Instant, space: &mut Space) -> Option<Work> {
        if let Some((client, offer)) = self.outbox.pop_front() {
            return Some(Work::Credit(client, self.control.connection(client), offer));
        }
        while let Some(key) = self.ahead.pop_front() {
            if let Some(work) = self.start(now, key, space) {
                return Some(work);
            }
        }
        let may_run_on = self.handled_ns < self.spec.parse_every.nanos();
        if self.turn == 0 && (self.runnable.is_empty() || !may_run_on) {
            self.turn = self.packets.len();
            self.handled_ns = 0;
        }
        if self.turn > 0
            && let Some((arrived, packet)) = self.packets.pop_front()
        {
            self.turn -= 1;
            return Some(Work::Parse(arrived, packet));
        }
        while let Some(key) = self.runnable.pop_front() {
            self.drop_dead(space);
            if let Some(work) = self.start(now, key, space) {
                return Some(work);
            }
        }
        None
    }

    fn give(&mut self, now: Instant, core: u16, work: Work, space: &mut Space) {
        let costs = self.spec.costs;
        let cost = match work {
            Work::Parse(..) => costs.receive,
            Work::Reject(..) => costs.shed + costs.send,
            Work::Credit(..) | Work::Answer(_) => costs.send,
            Work::Run(_, time) => {
                self.handled_ns += time.nanos();
                time
            }
            Work::Serve(key) => {
                let service =
                    space.requests.get_mut(key).map_or(Duration::ZERO, |request| request.service);
                self.handled_ns += service.nanos();
                service + costs.send
            }
        };
        self.counts.busy_ns += cost.nanos();
        let busy = &mut self.cores[usize::from(core)];
        (busy.work, busy.ends) = (Some(work), now + cost);
        let done = Event::CoreDone(self.place.first_core + core, self.life);
        space.calendar.at(now + cost, done);
    }

    /// A packet has been parsed; returns what the core must do at once.
    fn parsed(
        &mut self,
        now: Instant,
        arrived: Instant,
        packet: Packet,
        space: &mut Space,
    ) -> Option<Work> {
        self.counts.rx += 1;
        match packet {
            Packet::Request(key) => self.judge(now, arrived, key, space),
            Packet::Demand { client, connection, demand, acked } => {
                if self.control.hears(client, connection) {
                    self.control.demand(now, client, demand, acked);
                }
                None
            }
            Packet::Deregister { client, connection } => {
                if self.control.hears(client, connection) {
                    self.control.deregister(now, client);
                }
                None
            }
            Packet::Open { client, connection } => {
                self.accept(now, client, connection, space);
                None
            }
            Packet::Hangup { client, connection } => {
                if self.control.hears(client, connection) {
                    self.close(now, client, space);
                }
                None
            }
            Packet::Reply(key) => {
                self.heard(now, key, false, space);
                None
            }
            Packet::Credit(key) => {
                self.heard(now, key, true, space);
                None
            }
        }
    }

    fn judge(
        &mut self,
        now: Instant,
        arrived: Instant,
        key: Key,
        space: &mut Space,
    ) -> Option<Work> {
        self.counts.requests += 1;
        let delay = self.delay(now, space);
        let request = space.request(key, "at parsing")?;
        if !self.control.hears(request.client, request.connection) {
            space.abandoned.push(key);
            return None;
        }
        (request.arrived, request.queued) = (arrived, now);
        let (client, dispatch) = (request.client, request.dispatch?);
        self.on_echo(arrived, dispatch.echo);
        let verdict =
            self.control.request(now, client, &dispatch, now.since(arrived), delay, space);
        let waiting = self.packets.len() + self.runnable.len();
        space.judge(Rule::Signal, signal::shed_while_idle(waiting, verdict));
        match verdict {
            Verdict::Admit if self.unbegun() >= self.spec.queue_max as usize => {
                Some(Work::Reject(key, Reason::QueueFull, Reached::Queue))
            }
            Verdict::Admit => {
                self.runnable.push_back(key);
                None
            }
            Verdict::Close(reason) => {
                self.control.say_goodbye(client);
                Some(Work::Reject(key, reason, Reached::Arrival))
            }
            Verdict::Shed(reason) => Some(Work::Reject(key, reason, Reached::Arrival)),
        }
    }

    /// A request leaves the queue: past its deadline it goes no further, and the controller has its
    /// last chance to refuse it.
    fn start(&mut self, now: Instant, key: Key, space: &mut Space) -> Option<Work> {
        let request = space.request(key, "at start")?;
        if request.task.as_ref().is_some_and(|task| task.stage != Stage::Fresh) {
            return self.go_on(now, key, space);
        }
        request.started = now;
        let in_server = now.since(request.arrived);
        let budget = request
            .dispatch
            .and_then(|dispatch| dispatch.budget)
            .map(|budget| budget.saturating_sub(in_server));
        if self.spec.enforce_deadlines && budget.is_some_and(|left| left.is_zero()) {
            return Some(Work::Reject(key, Reason::Deadline, Reached::Queue));
        }
        match self.control.start(now, request.client, in_server, budget) {
            Verdict::Admit if self.walk.is_some() => self.begin(now, key, space),
            Verdict::Admit => Some(Work::Serve(key)),
            Verdict::Shed(reason) | Verdict::Close(reason) => {
                Some(Work::Reject(key, reason, Reached::Start))
            }
        }
    }

    /// A response or reject leaves.
    fn answer(
        &mut self,
        now: Instant,
        key: Key,
        (outcome, reached): (Outcome, Reached),
        space: &mut Space,
    ) {
        self.settle(now, key, outcome, space);
        let Some(request) = space.request(key, "at answering") else {
            return;
        };
        if !self.control.hears(request.client, request.connection) {
            space.abandoned.push(key);
            return;
        }
        let served = outcome == Outcome::Served;
        let (until, service) = match (served, &request.task) {
            (true, None) => (request.started, request.service),
            (true, Some(_)) => (request.started, now.since(request.started)),
            (false, _) => (now, Duration::ZERO),
        };
        let waited = until.since(request.arrived);
        let (client, again) = (request.client, request.answer.is_some());
        if again {
            let what = || format!("client {client}: a request was answered twice");
            space.complain(Rule::Fates, what);
        }
        let done = Completion { outcome, reached, waited, service };
        let offer = self.control.done(now, client, &done, space);
        self.control.sent(now, client);
        if let Some(request) = space.requests.get_mut(key) {
            request.answer = Some(Answer { outcome, offer, left: now, waited });
        }
        self.counts.tx += 1;
        self.counts.served += u64::from(served);
        space.send_down(now, client, Event::Reply(key));
        if self.control.is_closing(client) {
            self.hang_up(now, client, space);
        }
    }

    fn send_credit(
        &mut self,
        now: Instant,
        client: u32,
        connection: u16,
        offer: Offer,
        space: &mut Space,
    ) {
        self.counts.tx += 1;
        self.counts.explicit += 1;
        let stamp = now.stamp();
        if self.control.hears(client, connection) {
            self.control.sent(now, client);
        }
        let credit = space.credits.insert(Credit { client, connection, offer, stamp });
        space.send_down(now, client, Event::Credit(credit));
    }
}

#[cfg(test)]
mod sabotage;
