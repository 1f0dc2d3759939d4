//! One run: the loop over the calendar, and what comes of it.

use crate::clients::Clients;
use crate::fabric::Fabric;
use crate::node::{Counts, Node};
use crate::space::{Event, Packet, Space};
use crate::topology::Topology;
use crate::trace::{Sample, Trace};
use crate::world::{Intended, Load, World};
use std::fmt;
use std::time::Duration;
use tailwater_control::catalog::Controller;
use tailwater_core::{Instant, Nanos, Rng};
use tailwater_stats::result::Run;
use tailwater_stats::{Tally, TallySpec};

/// A rule that every run must obey was broken: a defect of a controller or of the simulator, never a
/// property of the load.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Broken {
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
        let Self { what, at, seed, repeat } = self;
        write!(
            f,
            "simulation broke a rule at {at:?}: {what} (seed {seed}); this is a defect of tailwater"
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
/// # Errors
/// When a check finds a broken rule: credits that are not conserved, a client that kept to its
/// window but was called a violator, a request with no fate or two.
pub fn simulate(
    world: &World,
    load: Load<'_>,
    controller: &Controller,
) -> Result<(Run, Trace), Broken> {
    simulate_tiers(world, load, controller, &[])
}

/// The same for a world of several tiers: `tiers` holds a fresh controller for each of their nodes,
/// tier by tier. The run tells of the front; locks are told of every node.
///
/// # Errors
/// As for [`simulate`], and when there are more or fewer controllers than nodes.
pub fn simulate_tiers(
    world: &World,
    load: Load<'_>,
    controller: &Controller,
    tiers: &[Controller],
) -> Result<(Run, Trace), Broken> {
    let nodes: u32 = world.tiers.iter().map(|tier| tier.nodes.max(1)).sum();
    let mut simulation = Simulation::new(world, controller, tiers);
    if nodes as usize != tiers.len() {
        simulation.space.complain(|| {
            format!("the tiers have {nodes} nodes, but {} controllers were given", tiers.len())
        });
    }
    simulation.run(load);
    simulation.finish(world)
}

struct Simulation {
    space: Space,
    topology: Topology,
    clients: Clients,
    end: Instant,
    sample: Option<Duration>,
    samples: Vec<Sample>,
    /// The node's totals at both ends of the window.
    window: [Counts; 2],
    events: u64,
    now: Instant,
}

impl Simulation {
    fn new(world: &World, controller: &Controller, tiers: &[Controller]) -> Self {
        let topology = Topology::new(world, controller, tiers);
        let rng = Rng::from_seed(world.seed);
        let mut space = Space::new(Fabric::new(world.link, topology.connections(), &rng));
        let (from, to) = world.window();
        space.calendar.at(from, Event::Window(true));
        space.calendar.at(to, Event::Window(false));
        if world.sample.is_some() {
            space.calendar.at(Instant::ZERO, Event::Sample);
        }
        let tally = Tally::new(TallySpec { slo: world.slo, from, to, bin: world.bin });
        Self {
            space,
            topology,
            clients: Clients::new(controller, world.clients, world.slo, tally),
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
                self.now = request.at;
                self.events += 1;
                self.space.calendar.advance(request.at);
                let Intended { at, client, service } = request;
                self.clients.submit(at, client, service, &mut self.space);
                coming = intended.next();
            } else if event_at <= self.end {
                self.step();
            } else {
                return;
            }
        }
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
        self.now = now;
        self.events += 1;
        let (space, topology) = (&mut self.space, &mut self.topology);
        match event {
            Event::Packet(packet) => {
                let node = if topology.is_single() { 0 } else { topology.to(packet.client(space)) };
                topology.nodes[node].on_packet(now, packet, space);
            }
            Event::CoreDone(core) => {
                let node = if topology.is_single() { 0 } else { topology.of_core(core) };
                topology.nodes[node].on_core_done(now, core, space);
            }
            Event::Tick(node) => topology.nodes[usize::from(node)].on_tick(now, space),
            Event::GiveUp(key) => {
                let client = space.requests.get_mut(key).map(|request| request.client);
                if let Some(node) = client.map(|client| topology.to(client)) {
                    topology.nodes[node].on_give_up(now, key, space);
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
                self.window[usize::from(!begins)] = topology.nodes[0].counts;
            }
            Event::Sample => self.take_sample(now),
        }
        None
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

    fn finish(mut self, world: &World) -> Result<(Run, Trace), Broken> {
        for node in &self.topology.nodes {
            node.check_locks(&mut self.space);
            node.control().check_at_rest(&mut self.space);
        }
        let (tally, longest_unserved) = self.clients.finish(self.end, &mut self.space);
        if let Some(what) = self.space.broken {
            return Err(Broken {
                what,
                at: self.now,
                seed: world.seed,
                repeat: world.repeat.clone(),
            });
        }
        let [from, to] = self.window;
        let of_window = to.since(&from);
        let mut run = Run { clients: world.clients, ..Run::default() };
        tally.finish().fill(&mut run, Some(of_window.requests));
        of_window.fill(&mut run, world.measure);
        let nodes = self.topology.nodes.into_iter();
        let trace = Trace {
            samples: self.samples,
            longest_unserved,
            locks: nodes.flat_map(|node| node.lock_reports(self.end)).collect(),
            events: self.events,
        };
        Ok((run, trace))
    }
}

impl Counts {
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
mod tests;
