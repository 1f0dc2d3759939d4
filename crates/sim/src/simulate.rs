//! One run: the loop over the calendar, and what comes of it.

use crate::checks::{Rule, queues};
use crate::clients::Clients;
use crate::control::Control;
use crate::fabric::Fabric;
use crate::faults::Members;
use crate::node::{Counts, Node};
use crate::space::{Event, Space};
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
/// A server that restarts gets the same controller again, emptied of its sessions; see
/// [`simulate_with`].
///
/// # Errors
/// When a [`Rule`] is found broken.
pub fn simulate(
    world: &World,
    load: Load<'_>,
    controller: &Controller,
) -> Result<(Run, Trace), Broken> {
    simulate_with(world, load, &mut || controller.clone())
}

/// [`simulate`], with a fresh controller from `build` for the beginning and after each restart of the
/// server: a new process remembers nothing.
///
/// # Errors
/// When a [`Rule`] is found broken.
pub fn simulate_with(
    world: &World,
    load: Load<'_>,
    build: &mut dyn FnMut() -> Controller,
) -> Result<(Run, Trace), Broken> {
    let mut first = Some(build());
    let clients = first.clone();
    let mut boot = || first.take().unwrap_or_else(&mut *build).admission;
    let client = || clients.as_ref().map(Controller::client).expect("it was just built");
    let mut simulation = Simulation::new(world, Parts { boot: &mut boot, client: &client });
    simulation.run(load);
    simulation.finish(world)
}

/// What a run is made of beside its world: both ends of the controller.
struct Parts<'a> {
    /// The server's half, for the beginning and after each restart.
    boot: &'a mut dyn FnMut() -> Arc<dyn Admission>,
    /// A client's half.
    client: &'a dyn Fn() -> Client,
}

struct Simulation<'a> {
    space: Space,
    node: Node,
    clients: Clients<'a>,
    boot: &'a mut dyn FnMut() -> Arc<dyn Admission>,
    faults: Vec<(Fault, Members)>,
    queue_max: usize,
    end: Instant,
    sample: Option<Duration>,
    samples: Vec<Sample>,
    /// The node's totals at both ends of the window.
    window: [Counts; 2],
    events: u64,
    now: Instant,
}

impl<'a> Simulation<'a> {
    fn new(world: &World, parts: Parts<'a>) -> Self {
        let rng = Rng::from_seed(world.seed);
        let mut space = Space::new(Fabric::new(world.link, world.clients, &rng));
        let (from, to) = world.window();
        space.calendar.at(from, Event::Window(true));
        space.calendar.at(to, Event::Window(false));
        if world.sample.is_some() {
            space.calendar.at(Instant::ZERO, Event::Sample);
        }
        let tally = Tally::new(TallySpec { slo: world.slo, from, to, bin: world.bin });
        let control = Control::new((parts.boot)(), world.node.shards, world.clients, &mut space);
        let first = control.first_window();
        Self {
            faults: schedule_faults(world, &rng, &mut space),
            space,
            node: Node::new(world.node.clone(), control),
            clients: Clients::new(world, parts.client, first, tally),
            boot: parts.boot,
            queue_max: world.node.queue_max as usize,
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
            self.clients.bury(&mut self.space);
        }
        self.space.judge(Rule::Deadline, self.node.control().deadline.check(now));
        let (_, runnable) = self.node.queued();
        let finding = queues::bounded("the run queue", runnable, self.queue_max);
        self.space.judge(Rule::Queues, finding);
        answered
    }

    fn handle(&mut self, now: Instant, event: Event) -> Option<u32> {
        let space = &mut self.space;
        match event {
            Event::Packet(packet) => self.node.on_packet(now, packet, space),
            Event::CoreDone(core, life) => self.node.on_core_done(now, core, life, space),
            Event::Tick => self.node.on_tick(now, space),
            Event::Reply(key) => return self.clients.on_reply(now, key, space),
            Event::Credit(key) => self.clients.on_credit(now, key, space),
            Event::ClientDue(client) => self.clients.on_due(now, client, space),
            Event::Window(begins) => self.window[usize::from(!begins)] = self.node.counts,
            Event::Sample => self.take_sample(now),
            Event::Fault(index, begins) => self.strike(now, index, begins),
            Event::Opened { client, connection } => {
                self.clients.on_opened(now, client, connection, space);
            }
            Event::Lost { client, connection } => {
                self.clients.on_lost(now, client, connection, space);
            }
            Event::Reconnect { client, connection } => {
                self.clients.on_reconnect(now, client, connection, space);
            }
        }
        None
    }

    /// A fault begins or ends.
    fn strike(&mut self, now: Instant, index: u16, begins: bool) {
        let (fault, members) = self.faults[usize::from(index)];
        let (space, weather) = (&mut self.space, |space: &mut Space| match begins {
            true => space.fabric.weather.begin(index, members, fault.kind),
            false => space.fabric.weather.end(index),
        });
        let struck = (0..self.clients.count()).filter(|&client| members.contain(client));
        match fault.kind {
            FaultKind::ClientCrash if begins => self.clients.crash(now, &members, space),
            FaultKind::ClientCrash => self.clients.revive(now, &members, space),
            FaultKind::ServerRestart if begins => self.node.die(now, (self.boot)(), space),
            FaultKind::ServerRestart => self.node.boot(now, space),
            FaultKind::ServerPause if begins => self.node.pause(now, now + fault.length, space),
            FaultKind::ServerPause => self.node.resume(now, space),
            FaultKind::SlowLink { .. } | FaultKind::LossyLink { .. } => weather(space),
            FaultKind::Clock { .. } => {}
            FaultKind::Lie(claim) => {
                struck.for_each(|client| self.clients.set_claim(client, begins.then_some(claim)));
            }
            FaultKind::Flood => struck.for_each(|client| {
                self.node.distrust(client);
                self.clients.set_flood(client, begins);
            }),
        }
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
        let at_node = self.node.held_requests();
        let (tally, longest_unserved) = self.clients.finish(self.end, &at_node, &mut self.space);
        self.node.control().check_at_rest(&mut self.space);
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
        tally.finish().fill(&mut run, Some(of_window.requests));
        of_window.fill(&mut run, world.measure);
        let trace = Trace { samples: self.samples, longest_unserved, events: self.events };
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
        (*fault, Members::of(fault, index, world.clients, rng))
    });
    faults.collect()
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
mod sabotage;
