//! One run: the loop over the calendar, and what comes of it.

use crate::clients::Clients;
use crate::control::Control;
use crate::fabric::Fabric;
use crate::node::{Counts, Node};
use crate::space::{Event, Space};
use crate::trace::{Sample, Trace};
use crate::world::{Intended, Load, World};
use std::fmt;
use std::sync::Arc;
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
    let mut simulation = Simulation::new(world, controller);
    simulation.run(load);
    simulation.finish(world)
}

struct Simulation {
    space: Space,
    node: Node,
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
    fn new(world: &World, controller: &Controller) -> Self {
        let rng = Rng::from_seed(world.seed);
        let mut space = Space::new(Fabric::new(world.link, world.clients, &rng));
        let (from, to) = world.window();
        space.calendar.at(from, Event::Window(true));
        space.calendar.at(to, Event::Window(false));
        if world.sample.is_some() {
            space.calendar.at(Instant::ZERO, Event::Sample);
        }
        let tally = Tally::new(TallySpec { slo: world.slo, from, to, bin: world.bin });
        let admission = Arc::clone(&controller.admission);
        let control = Control::new(admission, world.node.shards, world.clients);
        Self {
            space,
            node: Node::new(world.node.clone(), control),
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
        let space = &mut self.space;
        match event {
            Event::Packet(packet) => self.node.on_packet(now, packet, space),
            Event::CoreDone(core) => self.node.on_core_done(now, core, space),
            Event::Tick => self.node.on_tick(now, space),
            Event::Reply(key) => return self.clients.on_reply(now, key, space),
            Event::Credit(key) => self.clients.on_credit(now, key, space),
            Event::ClientDue(client) => self.clients.on_due(now, client, space),
            Event::Window(begins) => self.window[usize::from(!begins)] = self.node.counts,
            Event::Sample => self.take_sample(now),
        }
        None
    }

    fn take_sample(&mut self, now: Instant) {
        let Some(every) = self.sample else {
            return;
        };
        let (packets, runnable) = self.node.queued();
        let gauges = self.node.control().gauges();
        self.samples.push(Sample {
            at: now,
            pool: gauges.pool,
            issued: gauges.issued,
            sessions: gauges.sessions,
            delay: self.node.delay(now, &mut self.space),
            packets,
            runnable,
        });
        if self.samples.len() < World::SAMPLES_MAX {
            self.space.calendar.at(now + every, Event::Sample);
        }
    }

    fn finish(mut self, world: &World) -> Result<(Run, Trace), Broken> {
        let (tally, longest_unserved) = self.clients.finish(self.end, &mut self.space);
        self.node.control().check_at_rest(&mut self.space);
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
        let trace = Trace { samples: self.samples, longest_unserved, events: self.events };
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
