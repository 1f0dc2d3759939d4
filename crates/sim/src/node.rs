//! The server: loops with queues of packets and requests, cores, and the controller's shards.
//!
//! The same walk as in the runtime: a packet waits for a core, is received and parsed, gets its
//! verdict, waits in the queue of requests, runs, and is answered; credits ride on the answer.
//! `node/run_loop.rs` decides what a core does next; this file does the book-keeping of each step. All that a step tells
//! the controller or asks of it goes through [`Control`]. Requests with locks and calls walk on in `node/walk.rs`;
//! `node/calls.rs` hears of those calls. Stalls of single cores are in `node/cores.rs`, and what befalls the whole node
//! and its connections in `node/outage.rs`. Where a node has threads, `node/staff.rs` knows what each has to do,
//! `node/schedule.rs` which of them has a core, and `node/hand_over.rs` what they pass to each other.

mod calls;
mod cores;
mod counts;
mod hand_over;
mod outage;
mod packets;
mod run_loop;
mod schedule;
pub(crate) mod staff;
pub(crate) mod walk;

pub(crate) use counts::Counts;

use crate::connection::{Connection, Incarnation};
use crate::control::Control;
use crate::facts::{Fact, Thing};
use crate::slab::Key;
use crate::space::{Answer, Credit, Event, Packet, Space};
use crate::task::Stage;
use crate::world::NodeSpec;
use cores::Core;
use packets::Seen;
use run_loop::RunLoop;
use staff::Staff;
use std::collections::BTreeMap;
use std::time::Duration;
use tailwater_control::{Offer, Outcome, Reached, Reason, RequestEnd, Verdict};
use tailwater_core::{Instant, Nanos, Rng};
use walk::Walk;

pub(crate) struct Node {
    spec: NodeSpec,
    place: Place,
    control: Control,
    walk: Walk,
    /// Only where it has threads; else any core of a loop does whatever the loop has to do.
    pub(crate) staff: Option<Staff>,
    /// Decides how long they take to wake up.
    wakes: Rng,
    loops: Vec<RunLoop>,
    /// Equal parts of them belong to the loops, in order.
    cores: Vec<Core>,
    /// Pieces of work that cores were given.
    begun: u64,
    /// By connection, where costs depend on it.
    seen: BTreeMap<Connection, Seen>,
    /// Counts restarts, so that what was begun before one ends for nobody.
    life: u16,
    down: bool,
    /// A connection was lost, so that requests of nobody may wait.
    bereft: bool,
    /// Nothing moves before this.
    frozen_until: Instant,
    /// What slows its cores down: number of the fault, and the speed that it leaves.
    slow: Vec<(u16, f64)>,
    /// A core has nothing to do, as was told last.
    spare: bool,
    pub(crate) counts: Counts,
}

/// What a core is busy with.
#[derive(Clone, Copy, Debug)]
enum Work {
    Parse(Instant, Packet),
    Reject(Key, Reason, Reached),
    Serve(Key),
    /// To a worker, or back to the loop.
    HandOver(Key),
    /// This thread, of the crew, sends the calls that it took.
    Call(u16),
    /// A member of the crew wakes the thread of a request that can go on.
    Ring(Key),
    /// A part of a path.
    Run(Key, Duration),
    /// The answer at its end.
    Answer(Key),
    Credit(Connection, Incarnation, Offer),
    /// The first message over a connection that was made anew.
    Welcome(Connection, Incarnation, Offer),
}

/// Which node it is, and where its cores begin among those of all.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    pub(crate) node: u16,
    pub(crate) first_core: u16,
}

impl Node {
    pub(crate) fn new(spec: NodeSpec, control: Control, place: Place, walk: Walk) -> Self {
        let loops = spec.loops.max(1) as u16;
        let cores = spec.cores_in_all() as u16;
        let each = cores / loops;
        Self {
            staff: staff_of(&spec),
            wakes: Rng::from_seed(0),
            loops: (0..loops).map(|at| RunLoop::new(at * each..(at + 1) * each)).collect(),
            cores: (0..cores).map(|_| Core::new()).collect(),
            begun: 0,
            seen: BTreeMap::new(),
            life: 0,
            down: false,
            bereft: false,
            frozen_until: Instant::ZERO,
            slow: Vec::new(),
            spare: false,
            spec,
            place,
            control,
            walk,
            counts: Counts::default(),
        }
    }

    pub(crate) const fn control(&self) -> &Control {
        &self.control
    }

    /// Whether its requests walk; else each computes for the time that it brings along.
    pub(crate) const fn has_paths(&self) -> bool {
        self.spec.paths.is_some()
    }

    /// Packets and requests that wait.
    pub(crate) fn queued(&self) -> (usize, usize) {
        let packets = self.loops.iter().map(|it| it.packets.len()).sum();
        (packets, self.loops.iter().map(|it| it.runnable.len() + it.front.len()).sum())
    }

    /// The longest of its loops.
    pub(crate) fn delay(&self, now: Instant, space: &mut Space) -> Duration {
        let delays = (0..self.loops.len()).map(|at| self.delay_of(at, now, space));
        delays.max().unwrap_or_default()
    }

    /// A message came in: nobody notices before a core is free.
    pub(crate) fn on_packet(&mut self, now: Instant, packet: Packet, space: &mut Space) {
        if self.down {
            return outage::refuse(now, packet, space);
        }
        let at = if self.loops.len() == 1 { 0 } else { self.loop_of(packet.connection(space)) };
        let thread = self.receive(now, packet, at, space);
        self.rouse(now, thread, space);
        self.assign(now, space);
    }

    pub(crate) fn on_core_done(&mut self, now: Instant, core: u16, life: u16, space: &mut Space) {
        let core = core - self.place.first_core;
        if life != self.life || self.hold_up(now, core, space) {
            return;
        }
        let Some(work) = self.cores[usize::from(core)].work.take() else {
            let what = format!("core {core} finished without having begun");
            return space.astray(Thing::Request, what);
        };
        let at = self.cores[usize::from(core)].works_for;
        let follow_up = self.conclude(now, (core, at), work, space);
        let todo = &mut self.cores[usize::from(core)].todo;
        match follow_up.or_else(|| todo.pop_front()) {
            Some(work) => self.give(now, (core, at), work, space),
            None => self.let_go(now, core),
        }
        if self.loops.len() > 1 && self.loops[at].is_drained() {
            // As the runtime's loop before it sleeps: others would go by a delay that is long past.
            self.loops[at].tick_due = now;
        }
        self.tick(at, now, space);
        let unbegun = self.loops[at].unbegun();
        space.tell(Fact::Worked { node: self.place.node, at, unbegun });
        self.assign(now, space);
    }

    /// What comes of work that is over; returns what the core must do at once.
    fn conclude(
        &mut self,
        now: Instant,
        (core, at): (u16, usize),
        work: Work,
        space: &mut Space,
    ) -> Option<Work> {
        let served = (Outcome::Served, Reached::Handler);
        match work {
            Work::Parse(arrived, packet) => {
                return self.parsed_all(now, (arrived, packet), (core, at), space);
            }
            Work::Run(key, _) => return self.walk_on(now, key, space),
            Work::Reject(key, reason, reached) => {
                self.answer(now, key, (Outcome::Shed(reason), reached), space);
            }
            Work::Serve(key) => {
                space.note_end(key, self.cores[usize::from(core)].handled);
                self.answer(now, key, served, space);
            }
            Work::Answer(key) => self.answer(now, key, served, space),
            Work::HandOver(key) => self.handed_over(now, key, space),
            Work::Call(thread) => self.sent(now, thread, space),
            Work::Ring(key) => self.wake(now, key, false, space),
            Work::Credit(connection, incarnation, offer) => {
                self.send_credit(now, connection, incarnation, offer, space);
            }
            Work::Welcome(connection, incarnation, offer) => {
                self.send_welcome(now, connection, incarnation, offer, space);
            }
        }
        None
    }

    /// The core has this to do, for a loop that may not be its own.
    fn give(&mut self, now: Instant, (core, at): (u16, usize), work: Work, space: &mut Space) {
        let request = work.key().and_then(|key| space.requests.get(key));
        let connection = request.map_or(Connection(0), |request| request.connection);
        let cost = match work {
            Work::Parse(_, packet) => self.receive_cost((core, at), packet, space),
            Work::Reject(key, ..) => {
                let cost = self.spec.costs.shed + self.send_cost(at, connection);
                spend(key, cost, space)
            }
            Work::Answer(key) => spend(key, self.send_cost(at, connection), space),
            Work::Credit(connection, ..) | Work::Welcome(connection, ..) => {
                self.send_cost(at, connection)
            }
            Work::HandOver(key) => spend(key, self.hand_over_cost(now, key, space), space),
            Work::Call(thread) => self.sending_cost(thread),
            Work::Ring(key) => spend(key, self.ringing_cost(), space),
            Work::Run(_, time) => {
                self.handled((core, at), self.slowed(time));
                time
            }
            Work::Serve(key) => {
                let service = space.requests.get(key).map_or(Duration::ZERO, |it| it.service);
                let takes = self.slowed(service);
                self.handled((core, at), takes);
                self.cores[usize::from(core)].handled = now + takes;
                service + self.send_cost(at, connection)
            }
        };
        let cost = cost + self.turn_to(core, work, space);
        let cost = cost + self.lag(work, cost, space);
        self.counts.busy_ns += cost.nanos();
        let ends = now + cost;
        self.begun += 1;
        let busy = &mut self.cores[usize::from(core)];
        (busy.work, busy.works_for, busy.began, busy.ends) = (Some(work), at, self.begun, ends);
        let done = Event::CoreDone(self.place.first_core + core, self.life);
        space.calendar.at(ends, done);
    }

    /// A packet has been parsed, with all that shares it; returns what the core must do at once.
    fn parsed_all(
        &mut self,
        now: Instant,
        first: (Instant, Packet),
        (core, at): (u16, usize),
        space: &mut Space,
    ) -> Option<Work> {
        let rest = std::mem::take(&mut self.cores[usize::from(core)].rest);
        // What is parsed with others has waited for them.
        let alone = rest.is_empty();
        let follow_up = self.parsed(now, first, (at, alone), space);
        for message in rest {
            let next = self.parsed(now, message, (at, alone), space);
            self.cores[usize::from(core)].todo.extend(next);
        }
        follow_up
    }

    /// A message has been parsed; returns what the core must do at once.
    fn parsed(
        &mut self,
        now: Instant,
        (arrived, packet): (Instant, Packet),
        (at, alone): (usize, bool),
        space: &mut Space,
    ) -> Option<Work> {
        self.counts.rx += 1;
        match packet {
            Packet::Request(key) => self.judge(now, (arrived, key), (at, alone), space),
            Packet::Demand { connection, incarnation, demand, acked } => {
                if self.control.hears(connection, incarnation) {
                    self.control.demand(now, connection, demand, acked);
                }
                None
            }
            Packet::Deregister { connection, incarnation } => {
                if self.control.hears(connection, incarnation) {
                    self.control.deregister(now, connection, space);
                }
                None
            }
            Packet::Open { connection, incarnation } => {
                Some(self.accept(now, connection, incarnation, space))
            }
            Packet::Hangup { connection, incarnation } => {
                if self.control.hears(connection, incarnation) {
                    self.close(now, connection, space);
                }
                None
            }
            Packet::Reply(key) => self.heard(now, key, false, space),
            Packet::Credit(key) => self.heard(now, key, true, space),
        }
    }

    fn judge(
        &mut self,
        now: Instant,
        (arrived, key): (Instant, Key),
        (at, alone): (usize, bool),
        space: &mut Space,
    ) -> Option<Work> {
        self.counts.requests += 1;
        let delay = self.delay_of(at, now, space);
        let request = space.request(key, "at parsing")?;
        if !self.control.hears(request.connection, request.incarnation) {
            space.abandoned.push(key);
            return None;
        }
        (request.arrived, request.queued) = (arrived, now);
        let (connection, dispatch) = (request.connection, request.dispatch?);
        let class = self.spec.class_of(request.service);
        self.on_echo(arrived, connection, dispatch.echo);
        let hidden = now.since(arrived);
        let verdict = self.control.request(now, connection, (class, &dispatch), hidden, delay);
        let was_taken_at_once =
            hidden <= self.slowed(self.spec.costs.receive + self.spec.connection_cost);
        let run_loop = &mut self.loops[at];
        let waits = !run_loop.packets.is_empty() || !run_loop.runnable.is_empty();
        let idle = alone && was_taken_at_once && !waits;
        space.tell(Fact::Judged { connection, registers: dispatch.register, verdict, idle });
        match verdict {
            Verdict::Admit if run_loop.unbegun() >= self.spec.queue_max as usize => {
                Some(reject(now, key, (Reason::QueueFull, Reached::Queue), space))
            }
            Verdict::Admit => {
                run_loop.runnable.push_back(key);
                None
            }
            Verdict::Close(reason) => {
                self.control.say_goodbye(connection);
                Some(reject(now, key, (reason, Reached::Arrival), space))
            }
            Verdict::Shed(reason) => Some(reject(now, key, (reason, Reached::Arrival), space)),
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
        let (in_server, left) = (now.since(request.arrived), request.time_left(now));
        if self.is_late(left) {
            return Some(reject(now, key, (Reason::Deadline, Reached::Queue), space));
        }
        match self.control.start(now, request.connection, in_server, left) {
            Verdict::Admit if self.has_paths() => self.begin_or_hand_over(now, key, space),
            Verdict::Admit => Some(Work::Serve(key)),
            Verdict::Shed(reason) | Verdict::Close(reason) => {
                Some(reject(now, key, (reason, Reached::Start), space))
            }
        }
    }

    /// Whether a request with so much left of its deadline is begun no more, whatever the controller says.
    fn is_late(&self, left: Option<Duration>) -> bool {
        self.spec.enforce_deadlines && left.is_some_and(|left| left.is_zero())
    }

    /// A response or reject leaves.
    fn answer(
        &mut self,
        now: Instant,
        key: Key,
        (outcome, reached): (Outcome, Reached),
        space: &mut Space,
    ) {
        walk::settle(now, key, space);
        let Some(request) = space.request(key, "at answering") else {
            return;
        };
        if !self.control.hears(request.connection, request.incarnation) {
            space.abandoned.push(key);
            return;
        }
        let ended = request.ended.unwrap_or(now);
        // What a handler took is no waiting, whatever came of it. To answer is neither.
        let (begun, service) = match reached {
            Reached::Handler => (request.started, ended.since(request.started)),
            Reached::Arrival | Reached::Queue | Reached::Start => (ended, Duration::ZERO),
        };
        let waited = begun.since(request.arrived);
        let class = self.spec.class_of(request.service);
        let (connection, again) = (request.connection, request.answer.is_some());
        space.tell(Fact::Answered { connection, again });
        let done = RequestEnd { outcome, reached, waited, service, class };
        let offer = self.control.done(now, connection, &done, space);
        self.stamped(now, connection);
        if let Some(request) = space.requests.get_mut(key) {
            request.answer = Some(Answer { outcome, offer, left: now, waited });
        }
        self.counts.tx += 1;
        self.counts.served += u64::from(outcome == Outcome::Served);
        if let Outcome::Shed(reason) = outcome {
            self.counts.shed[reason as usize - 1] += 1;
        }
        space.send_down(now, connection, Event::Reply(key));
        if self.control.is_closing(connection) {
            self.hang_up(now, connection, space);
        }
    }

    fn send_credit(
        &mut self,
        now: Instant,
        connection: Connection,
        incarnation: Incarnation,
        offer: Offer,
        space: &mut Space,
    ) {
        self.counts.tx += 1;
        self.counts.explicit += 1;
        let stamp = now.stamp();
        if self.control.hears(connection, incarnation) {
            self.stamped(now, connection);
        }
        let credit = space.credits.insert(Credit { connection, incarnation, offer, stamp });
        space.send_down(now, connection, Event::Credit(credit));
    }
}

/// Threads that nothing has come for yet.
fn staff_of(spec: &NodeSpec) -> Option<Staff> {
    let threads = spec.threads.clone().filter(|_| spec.paths.is_some());
    threads.map(|threads| Staff::new(threads, spec.loops.max(1) as usize))
}

/// A request is refused now, having come so far. To tell its client takes a core time yet.
fn reject(now: Instant, key: Key, (reason, reached): (Reason, Reached), space: &mut Space) -> Work {
    space.note_end(key, now);
    Work::Reject(key, reason, reached)
}

/// What a core does for a request with a path is part of its books, once that has begun.
fn spend(key: Key, cost: Duration, space: &mut Space) -> Duration {
    if let Some(task) = space.requests.get_mut(key).and_then(|request| request.task.as_mut()) {
        task.worked(cost);
    }
    cost
}
