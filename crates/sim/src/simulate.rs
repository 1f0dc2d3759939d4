//! One run: the loop over the calendar, and what comes of it.

use crate::checks::{Rule, calls, fates};
use crate::clients::Clients;
use crate::fabric::Fabric;
use crate::faults::Members;
use crate::locks::LockReport;
use crate::node::{Counts, Node};
use crate::slab::Key;
use crate::space::{Event, Packet, Space};
use crate::topology::{Plan, Topology};
use crate::trace::{Sample, Trace};
use crate::world::{Intended, Load, World};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tailwater_control::catalog::Controller;
use tailwater_control::{Admission, Client};
use tailwater_core::{Instant, Nanos, Rng};
use tailwater_stats::result::Run;
use tailwater_stats::{Tally, TallySpec};
use tailwater_workload::scenario::{Fault, FaultKind};

/// A rule that every run must obey was broken: a defect of a controller or of the simulator, never a
/// property of the load.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Broken {
    /// Which rule.
    pub rule: Rule,
    /// What was found.
    pub what: String,
    /// When, in virtual time.
    pub at: Instant,
    /// The seed of the run.
    pub seed: u64,
    /// The command that repeats it; empty when the world names none.
    pub repeat: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, what, at, seed, repeat } = self;
        write!(
            f,
            "simulation broke the rule of {} at {at:?}: {what} (seed {seed}); this is a defect of \
             tailwater",
            rule.name()
        )?;
        if !repeat.is_empty() {
            write!(f, "; to repeat it, type: {repeat}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Broken {}

/// Runs `load` through `world` under `controller`, which must be fresh from its spec: both its ends
/// remember what they were told.
///
/// In the returned run everything that a single run knows is filled in; names, capacity, bound and
/// validity are left to the caller. The trace holds what reports do not show.
///
/// The world must have one node: each needs a controller of its own. A server that restarts gets
/// the same controller again, emptied of its sessions. For both see [`simulate_with`].
///
/// # Panics
/// When the world has tiers or replicas.
///
/// # Errors
/// When a [`Rule`] is found broken.
pub fn simulate(
    world: &World,
    load: Load<'_>,
    controller: &Controller,
) -> Result<(Run, Trace), Broken> {
    let single = world.tiers.is_empty() && world.replicas <= 1;
    assert!(single, "each node needs a controller of its own");
    simulate_with(world, load, &mut |_| controller.clone())
}

/// [`simulate`] for worlds with replicas, tiers or restarts. `build` makes a fresh controller for the node
/// of a number: 0 is the front, its further replicas follow, then the tiers', tier by tier; nodes may not
/// share one. It is asked for a node again after each restart: a new process remembers nothing.
///
/// The run tells of the front, all replicas together; samples are of its first, locks of every node.
///
/// # Errors
/// When a [`Rule`] is found broken.
pub fn simulate_with(
    world: &World,
    load: Load<'_>,
    build: &mut dyn FnMut(usize) -> Controller,
) -> Result<(Run, Trace), Broken> {
    let fronts = world.replicas.max(1);
    let tiers: u32 = world.tiers.iter().map(|tier| tier.nodes.max(1)).sum();
    let built: Vec<Controller> = (0..(fronts + tiers) as usize).map(&mut *build).collect();
    let mut first = built.iter().map(|controller| Arc::clone(&controller.admission));
    let mut boot = |node| first.next().unwrap_or_else(|| build(node).admission);
    let client = |node: usize, number: u32| built[node].client(number.into());
    let to_front = |number| client((number / world.clients.max(1)) as usize, number);
    let parts = Parts { boot: &mut boot, client: &client, to_front: &to_front };
    let mut simulation = Simulation::new(world, parts);
    simulation.run(load);
    simulation.finish(world)
}

/// What a run is made of beside its world: both ends of the controllers.
pub(crate) struct Parts<'a> {
    /// The server's half for a node: of each in order, and again after each restart.
    pub(crate) boot: &'a mut dyn FnMut(usize) -> Arc<dyn Admission>,
    /// The client's half of a connection to a node.
    pub(crate) client: &'a dyn Fn(usize, u32) -> Client,
    /// The same for the replicas of the front.
    pub(crate) to_front: &'a dyn Fn(u32) -> Client,
}

struct Simulation<'a> {
    space: Space,
    topology: Topology,
    clients: Clients<'a>,
    boot: &'a mut dyn FnMut(usize) -> Arc<dyn Admission>,
    client: &'a dyn Fn(usize, u32) -> Client,
    faults: Vec<(Fault, Members)>,
    end: Instant,
    sample: Option<Duration>,
    samples: Vec<Sample>,
    /// The node's totals at both ends of the window.
    window: [Counts; 2],
    events: u64,
    now: Instant,
}

impl<'a> Simulation<'a> {
    fn new(world: &World, mut parts: Parts<'a>) -> Self {
        let plan = Plan::of(world);
        let rng = Rng::from_seed(world.seed);
        let mut space =
            Space::new(Fabric::new(world.link, plan.connections(), &rng), world.replicas);
        let (from, to) = world.window();
        space.calendar.at(from, Event::Window(true));
        space.calendar.at(to, Event::Window(false));
        if world.sample.is_some() {
            space.calendar.at(Instant::ZERO, Event::Sample);
        }
        let tally = Tally::new(TallySpec { slo: world.slo, from, to, bin: world.bin });
        let topology = Topology::new(world, plan, &mut parts, &mut space);
        let first = topology.nodes[0].control().first_window();
        Self {
            faults: schedule_faults(world, &rng, &mut space),
            space,
            topology,
            clients: Clients::new(world, parts.to_front, first, tally),
            boot: parts.boot,
            client: parts.client,
            end: to + world.drain,
            sample: world.sample,
            samples: Vec::new(),
            window: [Counts::default(); 2],
            events: 0,
            now: Instant::ZERO,
        }
    }

    fn run(&mut self, load: Load<'_>) {
        match load {
            Load::Open(intended) => self.run_open(intended),
            Load::Closed { in_flight, service } => self.run_closed(in_flight, service),
        }
    }

    /// Intended requests stay out of the calendar: they come in order anyway.
    fn run_open(&mut self, intended: &mut dyn Iterator<Item = Intended>) {
        let mut coming = intended.next();
        while self.space.broken.is_none() {
            let event_at = self.space.calendar.next_at().unwrap_or(Instant::FAR_FUTURE);
            if let Some(request) = coming
                && request.at <= event_at
                && request.at <= self.end
            {
                self.intend(request);
                coming = intended.next();
            } else if event_at <= self.end {
                self.step();
            } else {
                return;
            }
        }
    }

    fn intend(&mut self, request: Intended) {
        let Intended { at, client, service } = request;
        self.now = at;
        self.events += 1;
        self.space.calendar.advance(at);
        self.clients.submit(at, client, service, &mut self.space);
    }

    fn run_closed(&mut self, in_flight: u32, service: &mut dyn FnMut() -> Duration) {
        let clients = self.clients.count();
        for number in 0..in_flight {
            let client = number % clients;
            self.clients.submit(Instant::ZERO, client, service(), &mut self.space);
        }
        while self.space.broken.is_none()
            && self.space.calendar.next_at().is_some_and(|at| at <= self.end)
        {
            if let Some(client) = self.step() {
                self.clients.submit(self.now, client, service(), &mut self.space);
            }
        }
    }

    /// Handles the next event; returns the client that got an answer by it.
    fn step(&mut self) -> Option<u32> {
        let (now, event) = self.space.calendar.pop()?;
        self.happen(now, event)
    }

    fn happen(&mut self, now: Instant, event: Event) -> Option<u32> {
        self.now = now;
        self.events += 1;
        let answered = self.handle(now, event);
        if !self.space.abandoned.is_empty() {
            self.clients.bury(now, &mut self.space);
        }
        answered
    }

    fn handle(&mut self, now: Instant, event: Event) -> Option<u32> {
        let (space, topology) = (&mut self.space, &mut self.topology);
        match event {
            Event::Packet(packet) => {
                let node = if topology.is_single() { 0 } else { topology.to(packet.client(space)) };
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
                let client = space.requests.get(key).map(|request| request.client);
                if let Some(node) = client.map(|client| topology.to(client)) {
                    topology.nodes[node].on_give_up(now, key, space);
                }
            }
            Event::Resume(key) => {
                let client = space.requests.get(key).map(|request| request.client);
                if let Some(node) = client.map(|client| topology.to(client)) {
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
            Event::ClientDue(client) => match topology.caller(client) {
                Some(node) => node.on_caller_due(now, client, space),
                None => self.clients.on_due(now, client, space),
            },
            Event::Window(begins) => {
                let fronts = topology.fronts().iter().map(|node| node.counts);
                self.window[usize::from(!begins)] = fronts.fold(Counts::default(), Counts::plus);
            }
            Event::Patience(key) => self.clients.on_patience(now, key, space),
            Event::CallLost(key) => {
                let number = space.requests.get(key).map(|request| request.client);
                if let Some(node) = number.and_then(|number| topology.caller(number)) {
                    node.on_call_lost(now, key, space);
                }
            }
            Event::Sample => self.take_sample(now),
            Event::Fault(index, begins) => self.strike(now, index, begins),
            Event::Opened { client, connection } => match topology.caller(client) {
                Some(node) => node.on_caller_opened(now, client, connection, space),
                None => self.clients.on_opened(now, client, connection, space),
            },
            Event::Lost { client, connection } => match topology.caller(client) {
                Some(node) => node.on_caller_lost(now, client, connection, space),
                None => self.clients.on_lost(now, client, connection, space),
            },
            Event::Reconnect { client, connection } => match topology.caller(client) {
                Some(node) => node.on_caller_reconnect(now, client, connection, space),
                None => self.clients.on_reconnect(now, client, connection, space),
            },
        }
        None
    }

    /// A fault begins or ends.
    fn strike(&mut self, now: Instant, index: u16, begins: bool) {
        let (fault, members) = self.faults[usize::from(index)];
        let (space, topology) = (&mut self.space, &mut self.topology);
        let struck = (0..self.clients.links()).filter(|&client| members.contain(client));
        match fault.kind {
            FaultKind::ClientCrash if begins => self.clients.crash(now, &members, space),
            FaultKind::ClientCrash => self.clients.revive(now, &members, space),
            FaultKind::ServerRestart | FaultKind::ServerPause => {
                for number in topology.struck(fault.nodes) {
                    let node = &mut topology.nodes[number];
                    match (fault.kind, begins) {
                        (FaultKind::ServerRestart, true) => {
                            node.die(now, (self.boot)(number), self.client, space);
                        }
                        (FaultKind::ServerRestart, false) => node.boot(now, space),
                        (_, true) => node.pause(now, now + fault.length, space),
                        (_, false) => node.resume(now, space),
                    }
                }
            }
            FaultKind::SlowLink { .. } | FaultKind::LossyLink { .. } if begins => {
                space.fabric.weather.begin(index, members, fault.kind);
            }
            FaultKind::SlowLink { .. } | FaultKind::LossyLink { .. } => {
                space.fabric.weather.end(index);
            }
            FaultKind::Clock { .. } => {}
            FaultKind::Lie(claim) => {
                struck.for_each(|client| self.clients.set_claim(client, begins.then_some(claim)));
            }
            FaultKind::Flood => struck.for_each(|client| {
                let node = topology.to(client);
                topology.nodes[node].distrust(client);
                self.clients.set_flood(client, begins);
            }),
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

    /// What must be true when nothing more happens.
    fn check_at_end(&mut self) {
        let (space, nodes) = (&mut self.space, &self.topology.nodes);
        let at_nodes: Vec<Key> = nodes.iter().flat_map(|node| node.held_requests(space)).collect();
        let calls: u64 = nodes.iter().map(Node::waiting_calls).sum();
        let finding = fates::placed(self.clients.waiting() + calls, &at_nodes, space);
        space.judge(Rule::Fates, finding);
        for node in nodes {
            node.check_walk(space);
            node.control().check_at_rest(self.end, space);
        }
        let finding = calls::awaited(space);
        space.judge(Rule::Calls, finding);
    }

    fn finish(mut self, world: &World) -> Result<(Run, Trace), Broken> {
        self.check_at_end();
        let books = self.clients.finish(self.end, &mut self.space);
        if let Some((rule, what)) = self.space.broken {
            return Err(Broken {
                rule,
                what,
                at: self.now,
                seed: world.seed,
                repeat: world.repeat.clone(),
            });
        }
        let [from, to] = self.window;
        let of_window = to.since(&from);
        let mut run = Run { clients: world.clients, ..Run::default() };
        run.retry = books.retry;
        let mut found = books.tally.finish();
        let points = std::mem::take(&mut found.points);
        found.fill(&mut run, Some(of_window.requests));
        of_window.fill(&mut run, world.measure);
        let nodes = self.topology.nodes.into_iter();
        let locks: Vec<_> = nodes.flat_map(|node| node.lock_reports(self.end)).collect();
        run.locks = locks.iter().map(LockReport::reading).collect();
        let trace = Trace {
            samples: self.samples,
            longest_unserved: books.longest_unserved,
            locks,
            points,
            events: self.events,
        };
        Ok((run, trace))
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

impl Counts {
    fn plus(self, other: Self) -> Self {
        Self {
            requests: self.requests + other.requests,
            rx: self.rx + other.rx,
            tx: self.tx + other.tx,
            explicit: self.explicit + other.explicit,
            served: self.served + other.served,
            busy_ns: self.busy_ns + other.busy_ns,
        }
    }

    fn since(&self, earlier: &Self) -> Self {
        Self {
            requests: self.requests - earlier.requests,
            rx: self.rx - earlier.rx,
            tx: self.tx - earlier.tx,
            explicit: self.explicit - earlier.explicit,
            served: self.served - earlier.served,
            busy_ns: self.busy_ns - earlier.busy_ns,
        }
    }

    /// What the server's own counters say about a run.
    fn fill(&self, run: &mut Run, window: Duration) {
        let per = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        run.server_cpu_ns_per_request = per(self.busy_ns, self.requests);
        run.rx_per_request = per(self.rx, self.served);
        run.tx_per_request = per(self.tx, self.served);
        run.explicit_credits_rps = self.explicit as f64 * 1e9 / window.nanos().max(1) as f64;
    }
}

#[cfg(test)]
mod sabotage;
#[cfg(test)]
mod tests;
