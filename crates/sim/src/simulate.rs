//! One run: the mechanics move, the referee watches, and what comes of it.

use crate::checks::Rule;
use crate::clients::Answered;
use crate::connection::Connection;
use crate::locks::LockReport;
use crate::mechanics::{Mechanics, Remains};
use crate::referee::Referee;
use crate::space::Event;
use crate::topology::Parts;
use crate::trace::Trace;
use crate::world::{Intended, TierSpec, World};
use std::fmt;
use std::iter::Peekable;
use std::sync::Arc;
use std::time::Duration;
use tailwater_control::catalog::Controller;
use tailwater_core::{Instant, Rate};
use tailwater_stats::result::{AskedRun, Run};

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

/// Runs the `intended` requests through `world` under `controller`, which must be fresh from its spec: both its ends
/// remember what they were told.
///
/// The load is open: requests come at their intended times, whatever the server does, and in order of time.
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
    intended: &mut dyn Iterator<Item = Intended>,
    controller: &Controller,
) -> Result<(Run, Trace), Broken> {
    let single = world.tiers.is_empty() && world.replicas <= 1;
    assert!(single, "each node needs a controller of its own");
    simulate_with(world, intended, &mut |_| controller.clone())
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
    intended: &mut dyn Iterator<Item = Intended>,
    build: &mut dyn FnMut(usize) -> Controller,
) -> Result<(Run, Trace), Broken> {
    with_nodes(world, build, |mut simulation| {
        simulation.run_open(intended);
        simulation.finish(world)
    })
}

/// What a closed loop comes to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Answers {
    /// Requests served within the window, per second.
    pub rate: Rate,
    /// Requests refused within it: with any, the rate is not the server's capacity.
    pub refused: u64,
}

/// Answers within the window, with `in_flight` requests always under way, spread evenly over the
/// clients: each answer makes its client ask again. `service` draws how long the handler of the next runs.
///
/// An answer of the window counts whenever its request was made, as on sockets. Counting requests that are made
/// and answered within it would leave out `in_flight` of them.
///
/// # Errors
/// When a [`Rule`] is found broken.
pub fn closed_loop(
    world: &World,
    in_flight: u32,
    service: &mut dyn FnMut() -> Duration,
    build: &mut dyn FnMut(usize) -> Controller,
) -> Result<Answers, Broken> {
    with_nodes(world, build, |mut simulation| {
        let [served, refused] = simulation.run_closed(in_flight, service);
        simulation.finish(world)?;
        Ok(Answers { rate: Rate(served as f64 / world.measure.as_secs_f64()), refused })
    })
}

/// What `play` makes of the simulation of these nodes.
fn with_nodes<T>(
    world: &World,
    build: &mut dyn FnMut(usize) -> Controller,
    play: impl FnOnce(Simulation<'_>) -> Result<T, Broken>,
) -> Result<T, Broken> {
    let fronts = world.replicas.max(1);
    let tiers: u32 = world.tiers.iter().map(TierSpec::servers).sum();
    let built: Vec<Controller> = (0..(fronts + tiers) as usize).map(&mut *build).collect();
    let mut first = built.iter().map(|controller| Arc::clone(&controller.admission));
    let mut boot = |node| first.next().unwrap_or_else(|| build(node).admission);
    let client = |node: usize, connection: Connection| built[node].client(connection.0.into());
    let parts = Parts { boot: &mut boot, client: &client };
    play(Simulation::new(Mechanics::new(world, parts), world))
}

/// The mechanics, who watches them, and how long.
struct Simulation<'a> {
    mechanics: Mechanics<'a>,
    referee: Referee,
    window: (Instant, Instant),
    end: Instant,
}

impl<'a> Simulation<'a> {
    /// The referee goes by the world as it is told here.
    fn new(mechanics: Mechanics<'a>, world: &World) -> Self {
        let window = world.window();
        let end = window.1 + world.drain;
        let mut simulation = Self { mechanics, referee: Referee::new(world), window, end };
        simulation.watch();
        simulation
    }

    /// The referee hears what has happened.
    fn watch(&mut self) {
        let now = self.mechanics.now();
        for fact in self.mechanics.space.facts.drain(..) {
            self.referee.hear(now, &fact);
        }
    }

    fn run_open(&mut self, intended: &mut dyn Iterator<Item = Intended>) {
        let mut coming = intended.peekable();
        while let Some(next) = self.next(&mut coming) {
            match next {
                Next::Intended(request) => self.mechanics.intend(request),
                Next::Event(now, event) => {
                    self.mechanics.happen(now, event);
                }
            }
            self.watch();
        }
    }

    /// What is to happen next; nothing once the run is over or a rule is broken.
    fn next(&mut self, coming: &mut Peekable<impl Iterator<Item = Intended>>) -> Option<Next> {
        if !self.referee.is_content() {
            return None;
        }
        let event_at = self.mechanics.next_at();
        let is_first = |request: &Intended| request.at <= event_at.min(self.end);
        if let Some(request) = coming.next_if(is_first) {
            return Some(Next::Intended(request));
        }
        let now = self.mechanics.now();
        if now >= self.window.1 && self.referee.has_all_fates() && coming.peek().is_none() {
            // Nothing that comes could count.
            self.end = now;
            return None;
        }
        if event_at > self.end {
            return None;
        }
        let (now, event) = self.mechanics.pop()?;
        Some(Next::Event(now, event))
    }

    /// Returns how many requests were served within the window, and how many refused.
    fn run_closed(&mut self, in_flight: u32, service: &mut dyn FnMut() -> Duration) -> [u64; 2] {
        let clients = self.mechanics.clients();
        let mut ask = |simulation: &mut Self, client| {
            let at = simulation.mechanics.now();
            simulation.mechanics.submit(at, client, service());
            simulation.watch();
        };
        (0..in_flight).for_each(|number| ask(self, number % clients));
        let mut answers = [0; 2];
        while self.referee.is_content()
            && self.mechanics.next_at() <= self.end
            && let Some((now, event)) = self.mechanics.pop()
        {
            let answered = self.mechanics.happen(now, event);
            self.watch();
            if let Some(Answered { client, is_served }) = answered {
                let counts = now >= self.window.0 && now < self.window.1;
                answers[usize::from(!is_served)] += u64::from(counts);
                ask(self, client);
            }
        }
        answers
    }

    fn finish(mut self, world: &World) -> Result<(Run, Trace), Broken> {
        let at = self.mechanics.now();
        self.mechanics.tell_all(self.end);
        self.watch();
        let ruling = self.referee.conclude(self.end, &self.mechanics.standing());
        if let Some((rule, what)) = ruling.0 {
            let repeat = world.repeat.clone();
            return Err(Broken { rule, what, at, seed: world.seed, repeat });
        }
        let Remains { books, samples, tiers, locks, events } = self.mechanics.finish(self.end);
        let counts = tiers.first().map(|front| front.counts).unwrap_or_default();
        let mut run = Run {
            asked: AskedRun { clients: world.clients, ..AskedRun::default() },
            ..Run::default()
        };
        run.retry = books.retry;
        let mut found = books.tally.finish();
        let points = std::mem::take(&mut found.points);
        found.fill(&mut run, Some(counts.requests));
        run.server = counts.server_reading(world.measure);
        let names = std::iter::once("").chain(world.tiers.iter().map(|tier| &*tier.name));
        if !world.tiers.is_empty() {
            let readings = names.zip(&tiers).map(|(name, tier)| tier.reading(name, world.measure));
            run.tiers = readings.collect();
        }
        run.locks = locks.iter().map(LockReport::reading).collect();
        let longest_unserved = books.longest_unserved;
        Ok((run, Trace { samples, longest_unserved, locks, points, events }))
    }
}

/// What is about to happen.
enum Next {
    Intended(Intended),
    Event(Instant, Event),
}

#[cfg(test)]
mod heedless;
#[cfg(test)]
mod sabotage;
#[cfg(test)]
mod tests;
