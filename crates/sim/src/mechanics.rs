//! What moves: the calendar, the network, nodes and clients, and who gets each event.
//!
//! Nothing here judges. What happens is told as [`Fact`](crate::facts::Fact)s in [`Space::facts`], for
//! whoever drives the mechanics to take after each event.

use crate::clients::{Answered, Books, Clients};
use crate::connection::{Connection, all_in};
use crate::fabric::Fabric;
use crate::facts::Thing;
use crate::faults::{Front, Members};
use crate::locks::LockReport;
use crate::node::Node;
use crate::space::{Event, Packet, Space};
use crate::standing::Standing;
use crate::threads::Switch;
use crate::topology::{Parts, Plan, Topology};
use crate::trace::Sample;
use crate::window::{OfTier, Window};
use crate::world::{Intended, World};
use std::sync::Arc;
use std::time::Duration;
use tailwater_control::{Admission, Client};
use tailwater_core::{Instant, Rng};
use tailwater_stats::{Tally, TallySpec};
use tailwater_workload::scenario::{Claim, Fault, FaultKind};

/// See the module.
pub(crate) struct Mechanics<'a> {
    pub(crate) space: Space,
    pub(crate) topology: Topology,
    clients: Clients<'a>,
    boot: &'a mut dyn FnMut(usize) -> Arc<dyn Admission>,
    client: &'a dyn Fn(usize, Connection) -> Client,
    pub(crate) faults: Vec<(Fault, Members)>,
    switches: Vec<Switch>,
    sample: Option<Duration>,
    samples: Vec<Sample>,
    window: Window,
    pub(crate) events: u64,
    now: Instant,
}

/// What is left of them when nothing more happens.
pub(crate) struct Remains {
    pub(crate) books: Books,
    pub(crate) samples: Vec<Sample>,
    /// The front's totals of the window, and after them those of each tier.
    pub(crate) tiers: Vec<OfTier>,
    pub(crate) locks: Vec<LockReport>,
    pub(crate) events: u64,
}

impl<'a> Mechanics<'a> {
    pub(crate) fn new(world: &World, mut parts: Parts<'a>) -> Self {
        let plan = Plan::of(world);
        let rng = Rng::from_seed(world.seed);
        let mut space = Space::new(Fabric::new(world.link, plan.connections(), &rng));
        let (from, to) = world.window();
        space.calendar.at(from, Event::Window(true));
        space.calendar.at(to, Event::Window(false));
        if world.sample.is_some() {
            space.calendar.at(Instant::ZERO, Event::Sample);
        }
        let tally = Tally::new(TallySpec { slo: world.slo, from, to, bin: world.bin });
        let topology = Topology::new(world, plan, &mut parts, &mut space);
        Self {
            faults: schedule_faults(world, &rng, &mut space),
            switches: schedule_switches(world, &mut space),
            space,
            topology,
            clients: Clients::new(world, parts.client, tally),
            boot: parts.boot,
            client: parts.client,
            sample: world.sample,
            samples: Vec::new(),
            window: Window::default(),
            events: 0,
            now: Instant::ZERO,
        }
    }

    /// The time of what happened last.
    pub(crate) const fn now(&self) -> Instant {
        self.now
    }

    /// When something happens next; in the far future where nothing is left.
    pub(crate) fn next_at(&self) -> Instant {
        self.space.calendar.next_at().unwrap_or(Instant::FAR_FUTURE)
    }

    /// How many clients there are.
    pub(crate) const fn clients(&self) -> u32 {
        self.clients.count()
    }

    /// A client makes a request, which stays out of the calendar: they come in order anyway.
    pub(crate) fn intend(&mut self, request: Intended) {
        let Intended { at, client, service } = request;
        self.now = at;
        self.events += 1;
        self.space.calendar.advance(at);
        self.submit(at, client, service);
    }

    /// A client makes a request now.
    pub(crate) fn submit(&mut self, now: Instant, client: u32, service: Duration) {
        self.clients.submit(now, client, service, &mut self.space);
    }

    /// The next event.
    pub(crate) fn pop(&mut self) -> Option<(Instant, Event)> {
        self.space.calendar.pop()
    }

    /// It happens; returns the answer that a client got by it.
    pub(crate) fn happen(&mut self, now: Instant, event: Event) -> Option<Answered> {
        self.now = now;
        self.events += 1;
        let answered = self.handle(now, event);
        if !self.space.abandoned.is_empty() {
            self.clients.bury(now, &mut self.space);
        }
        answered
    }

    /// The run is over: all clients say once more how they do.
    pub(crate) fn tell_all(&mut self, end: Instant) {
        self.now = end;
        self.clients.tell_all(&mut self.space);
    }

    /// Where everything stands.
    pub(crate) fn standing(&self) -> Standing<'_> {
        let (space, nodes) = (&self.space, &self.topology.nodes);
        let calls: u64 = nodes.iter().map(Node::waiting_calls).sum();
        Standing {
            space,
            waiting: self.clients.waiting() + calls,
            at_nodes: nodes.iter().flat_map(|node| node.held_requests(space)).collect(),
            locks: nodes.iter().flat_map(Node::busy_locks).collect(),
            threads: nodes.iter().flat_map(Node::waiting_threads).collect(),
            gauges: nodes.iter().map(|node| node.control().gauges()).collect(),
        }
    }

    /// Closes the books at the end of the run.
    pub(crate) fn finish(self, end: Instant) -> Remains {
        let tiers = self.window.tiers(&self.topology);
        let books = self.clients.finish(end, &self.space);
        let nodes = self.topology.nodes.into_iter();
        Remains {
            books,
            samples: self.samples,
            tiers,
            locks: nodes.flat_map(|node| node.lock_reports(end)).collect(),
            events: self.events,
        }
    }

    fn handle(&mut self, now: Instant, event: Event) -> Option<Answered> {
        let (space, topology) = (&mut self.space, &mut self.topology);
        match event {
            Event::Packet(packet) => {
                let node =
                    if topology.is_single() { 0 } else { topology.to(packet.connection(space)) };
                topology.nodes[node].on_packet(now, packet, space);
            }
            Event::CoreDone(core, life) => {
                let node = if topology.is_single() { 0 } else { topology.of_core(core) };
                topology.nodes[node].on_core_done(now, core, life, space);
            }
            Event::Stall(core) => {
                let node = topology.of_core(core);
                topology.nodes[node].on_stall(now, core, space);
            }
            Event::Tick(node, at) => {
                topology.nodes[usize::from(node)].on_tick(usize::from(at), now, space);
            }
            Event::GiveUp(key) => {
                if let Some(node) = space.connection_of(key).map(|it| topology.to(it)) {
                    topology.nodes[node].on_give_up(now, key, space);
                }
            }
            Event::Resume(key) => {
                if let Some(node) = space.connection_of(key).map(|it| topology.to(it)) {
                    topology.nodes[node].on_resume(now, key, space);
                }
            }
            Event::Reply(key) => match topology.caller_of(Packet::Reply(key), space) {
                Some(node) => node.on_packet(now, Packet::Reply(key), space),
                None => return self.clients.on_reply(now, key, space),
            },
            Event::Credit(key) => match topology.caller_of(Packet::Credit(key), space) {
                Some(node) => node.on_packet(now, Packet::Credit(key), space),
                None => self.clients.on_credit(now, key, space),
            },
            Event::ClientDue(connection) => match topology.caller(connection) {
                Some(node) => node.on_caller_due(now, connection, space),
                None => self.clients.on_due(now, connection, space),
            },
            Event::Window(begins) => self.window.read(begins, topology),
            Event::Patience(key) => self.clients.on_patience(now, key, space),
            Event::Late(key) => {
                if let Some(node) = space.connection_of(key).and_then(|it| topology.caller(it)) {
                    node.on_call_late(now, key, space);
                }
            }
            Event::CallLost(key) => {
                let Some(connection) = space.connection_of(key) else {
                    space.astray(Thing::Call, "a call was lost that had ended before");
                    return None;
                };
                if let Some(node) = topology.caller(connection) {
                    node.on_call_lost(now, key, space);
                }
            }
            Event::Woken { node, thread, life } => {
                topology.nodes[usize::from(node)].on_woken(now, thread, life, space);
            }
            Event::Switch(index) => {
                let Switch { nodes, model, .. } = self.switches[usize::from(index)];
                for number in topology.struck(nodes) {
                    topology.nodes[number].set_model(now, model, space);
                }
            }
            Event::Sample => self.take_sample(now),
            Event::Fault(index, begins) => self.strike(now, index, begins),
            Event::Opened(key) => match topology.caller_of(Packet::Credit(key), space) {
                Some(node) => node.on_caller_opened(now, key, space),
                None => self.clients.on_opened(now, key, space),
            },
            Event::Lost { connection, incarnation } => match topology.caller(connection) {
                Some(node) => node.on_caller_lost(now, connection, incarnation, space),
                None => self.clients.on_lost(now, connection, incarnation, space),
            },
            Event::Reconnect { connection, incarnation } => match topology.caller(connection) {
                Some(node) => node.on_caller_reconnect(now, connection, incarnation, space),
                None => self.clients.on_reconnect(now, connection, incarnation, space),
            },
        }
        None
    }

    /// Faults of the same kind that last now, but for this one.
    fn lasting_beside(&self, now: Instant, index: u16) -> Vec<(Fault, Members)> {
        let index = usize::from(index);
        let kind = std::mem::discriminant(&self.faults[index].0.kind);
        let lasts = |fault: &Fault| {
            let begins = Instant::ZERO + fault.at;
            begins <= now && now < begins + fault.length
        };
        let others = self.faults.iter().enumerate().filter(|(number, _)| *number != index);
        others
            .map(|(_, other)| *other)
            .filter(|(fault, _)| std::mem::discriminant(&fault.kind) == kind && lasts(fault))
            .collect()
    }

    /// A fault begins or ends. What is struck by another of its kind stays so.
    fn strike(&mut self, now: Instant, index: u16, begins: bool) {
        let (fault, members) = self.faults[usize::from(index)];
        let others = if begins { Vec::new() } else { self.lasting_beside(now, index) };
        let stays =
            |connection: Connection| others.iter().any(|(_, members)| members.contain(connection));
        let (space, topology) = (&mut self.space, &mut self.topology);
        let struck = all_in(self.clients.connections()).filter(|&it| members.contain(it));
        match fault.kind {
            FaultKind::ClientCrash if begins => self.clients.crash(now, &members, space),
            FaultKind::ClientCrash => {
                self.clients.revive(now, |it| members.contain(it) && !stays(it), space);
            }
            FaultKind::ServerSlow { speed } => {
                for number in topology.struck(fault.nodes) {
                    topology.nodes[number].slow_down(index, begins.then_some(speed));
                }
            }
            FaultKind::ServerRestart | FaultKind::ServerPause => {
                let of_others = others.iter().flat_map(|(other, _)| topology.struck(other.nodes));
                let stay: Vec<usize> = of_others.collect();
                for number in topology.struck(fault.nodes) {
                    let node = &mut topology.nodes[number];
                    match (fault.kind, begins) {
                        (FaultKind::ServerRestart, true) => {
                            node.die(now, (self.boot)(number), self.client, space);
                        }
                        (_, false) if stay.contains(&number) => {}
                        (FaultKind::ServerRestart, false) => node.boot(now, space),
                        (_, true) => node.pause(now, now + fault.length, space),
                        (_, false) => node.resume(now, space),
                    }
                }
            }
            FaultKind::SlowLink { .. }
            | FaultKind::LossyLink { .. }
            | FaultKind::Partition { .. } => {
                if begins {
                    let connections = topology.connections_to(fault.nodes);
                    let Fault { way, kind, length, .. } = fault;
                    let until = now + length;
                    let front = Front { index, connections, members, way, kind, until };
                    space.fabric.weather.begin(front);
                } else {
                    space.fabric.weather.end(index);
                }
            }
            FaultKind::Clock { .. } => {}
            FaultKind::Lie(claim) => struck.for_each(|connection| {
                let of_others = others.iter().filter(|(_, members)| members.contain(connection));
                let other = of_others.map(|(other, _)| other.kind).find_map(claim_of);
                self.clients.set_claim(connection, begins.then_some(claim).or(other), space);
            }),
            FaultKind::Flood => {
                struck.for_each(|it| self.clients.set_flood(it, begins || stays(it), space));
            }
        }
    }

    fn front(&self) -> &Node {
        &self.topology.nodes[0]
    }

    fn take_sample(&mut self, now: Instant) {
        let Some(every) = self.sample else {
            return;
        };
        let (packets, runnable) = self.front().queued();
        let gauges = self.front().control().gauges();
        let delay = self.topology.nodes[0].delay(now, &mut self.space);
        self.samples.push(Sample {
            at: now,
            pool: gauges.pool,
            issued: gauges.issued,
            sessions: gauges.sessions,
            delay,
            packets,
            runnable,
        });
        if self.samples.len() < World::SAMPLES_MAX {
            self.space.calendar.at(now + every, Event::Sample);
        }
    }
}

/// What clients claim by a fault.
const fn claim_of(kind: FaultKind) -> Option<Claim> {
    match kind {
        FaultKind::Lie(claim) => Some(claim),
        _ => None,
    }
}

/// Puts the faults into the calendar and chooses whom they strike.
fn schedule_faults(world: &World, rng: &Rng, space: &mut Space) -> Vec<(Fault, Members)> {
    let most = usize::from(u16::MAX);
    let faults = world.faults.iter().take(most).enumerate().map(|(index, fault)| {
        let at = Instant::ZERO + fault.at;
        space.calendar.at(at, Event::Fault(index as u16, true));
        space.calendar.at(at + fault.length, Event::Fault(index as u16, false));
        (*fault, Members::of(fault, index, (world.clients, world.replicas), rng))
    });
    faults.collect()
}

/// Puts the changes of models into the calendar.
fn schedule_switches(world: &World, space: &mut Space) -> Vec<Switch> {
    let switches = world.switches.iter().take(usize::from(u16::MAX));
    let plan = |(index, switch): (usize, &Switch)| {
        space.calendar.at(Instant::ZERO + switch.at, Event::Switch(index as u16));
        *switch
    };
    switches.enumerate().map(plan).collect()
}
