//! An open loop of requests at a rate, and what they cost the server.

use super::connection::Connection;
use super::protocol::{Ask, Protocol};
use crate::meter::memory;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::net::SocketAddr;
use std::time::Duration;
use tailwater_core::{Instant, Rng};
use tailwater_rt::cpu::Usage;
use tailwater_rt::time::now;
use tailwater_stats::Histogram;

/// How long a server may take for what is still open at the end.
const DRAIN: Duration = Duration::from_secs(2);
/// Keys that are set in a row before answers are read.
const FILLED_AT_ONCE: u32 = 64;
/// How long the server may be silent while keys are set.
const SILENCE: Duration = Duration::from_secs(10);
/// Requests sent in a row before answers are looked at: a backlog must not starve the receiver.
const BURST: usize = 16;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The server's protocol.
    pub protocol: Protocol,
    /// Where it listens.
    pub address: SocketAddr,
    /// Its process, whose CPU time counts.
    pub server_pid: u32,
    /// Connections, which take turns by chance; at least one.
    pub connections: usize,
    /// Keys, each set once before anything is measured; at least one.
    pub keys: u32,
    /// The share of requests that are GETs, from 0 to 1; the others are SETs.
    pub gets: f64,
    /// Requests per second, with exponential gaps; above 0.
    pub requests_per_second: f64,
    /// Before anything is counted.
    pub warm_up: Duration,
    /// How long is counted.
    pub measure: Duration,
    /// Decides times, keys and connections.
    pub seed: u64,
    /// Whether the loop spins; otherwise it sleeps until something is due or arrives.
    pub spins: bool,
}

/// What was found in the measured window.
#[derive(Clone, Debug)]
pub struct Findings {
    /// Requests that were due in it.
    pub intended: u64,
    /// Of these, with an answer until the end of the drain.
    pub answered: u64,
    /// From their intended times.
    pub latency: Histogram,
    /// How late they were sent.
    pub lateness: Histogram,
    /// What the server's process used from the window's begin to its end.
    pub server: Usage,
    /// Its resident memory at the end, in bytes.
    pub memory: u64,
}

/// Sets every key, then asks at the plan's rate on this thread.
///
/// # Errors
/// When the server cannot be reached, ends a connection, or gives an answer that is not the right one.
pub fn run(plan: &Plan) -> Result<Findings, String> {
    let open = |_| Connection::open(plan.protocol, plan.address);
    let connections = (0..plan.connections).map(open).collect::<Result<Vec<_>, _>>();
    let mut connections = connections.map_err(|error| format!("{}: {error}", plan.address))?;
    fill(plan, &mut connections[0])?;
    Loop::new(plan, connections).run()
}

/// Sets every key, so that each GET finds what it expects.
fn fill(plan: &Plan, connection: &mut Connection) -> Result<(), String> {
    for first in (0..plan.keys).step_by(FILLED_AT_ONCE as usize) {
        for key in first..plan.keys.min(first + FILLED_AT_ONCE) {
            connection.send(Ask::Set(key), now())?;
        }
        let mut deadline = now() + SILENCE;
        while connection.unanswered() > 0 {
            if now() >= deadline {
                return Err(format!("the server set no key for {} s", SILENCE.as_secs()));
            }
            wait(std::slice::from_ref(connection), deadline)?;
            connection.flush()?;
            connection.receive(&mut |_| deadline = now() + SILENCE)?;
        }
    }
    Ok(())
}

/// The plan under way.
struct Loop<'a> {
    plan: &'a Plan,
    connections: Vec<Connection>,
    rng: Rng,
    start: Instant,
    /// When the next request is due.
    next: Instant,
    findings: Findings,
}

impl<'a> Loop<'a> {
    fn new(plan: &'a Plan, connections: Vec<Connection>) -> Self {
        let start = now();
        let (latency, lateness) = (Histogram::new(), Histogram::new());
        let (server, memory) = (Usage::default(), 0);
        let findings = Findings { intended: 0, answered: 0, latency, lateness, server, memory };
        Self { plan, connections, rng: Rng::from_seed(plan.seed), start, next: start, findings }
    }

    fn run(mut self) -> Result<Findings, String> {
        let (from, to) = self.window();
        let usage = || Usage::of(self.plan.server_pid).ok_or("the server has ended".to_owned());
        let mut before = None;
        while self.next < to {
            if before.is_none() && now() >= from {
                before = Some(usage()?);
            }
            self.send_due()?;
            self.receive(self.next)?;
        }
        // The window ends at its time, whenever the last request of it was sent.
        while now() < to {
            self.receive(to)?;
        }
        let before = before.map_or_else(usage, Ok)?;
        self.findings.server = usage()?.since(&before);
        self.findings.memory = memory(self.plan.server_pid);
        let limit = now() + DRAIN;
        while now() < limit && self.connections.iter().any(|of| of.unanswered() > 0) {
            self.receive(limit)?;
        }
        Ok(self.findings)
    }

    /// Begin and end of what is counted.
    fn window(&self) -> (Instant, Instant) {
        let from = self.start + self.plan.warm_up;
        (from, from + self.plan.measure)
    }

    fn send_due(&mut self) -> Result<(), String> {
        let (from, to) = self.window();
        for _ in 0..BURST {
            let time = now();
            if self.next > time || self.next >= to {
                return Ok(());
            }
            let intended = self.next;
            let gap = self.rng.exponential(1.0 / self.plan.requests_per_second);
            self.next = intended + Duration::from_secs_f64(gap);
            let key = self.rng.below(self.plan.keys);
            let ask = if self.rng.chance(self.plan.gets) { Ask::Get(key) } else { Ask::Set(key) };
            let connections = u32::try_from(self.connections.len()).unwrap_or(u32::MAX);
            let connection = self.rng.below(connections) as usize;
            if intended >= from {
                self.findings.intended += 1;
                self.findings.lateness.record(time.since(intended));
            }
            self.connections[connection].send(ask, intended)?;
        }
        Ok(())
    }

    /// Takes answers; where the loop sleeps, it waits for them until `deadline`.
    fn receive(&mut self, deadline: Instant) -> Result<(), String> {
        let (from, _) = self.window();
        let deadline = if self.plan.spins { self.start } else { deadline };
        for at in wait(&self.connections, deadline)? {
            let connection = &mut self.connections[at];
            connection.flush()?;
            connection.receive(&mut |intended| {
                if intended >= from {
                    self.findings.answered += 1;
                    self.findings.latency.record(now().since(intended));
                }
            })?;
        }
        Ok(())
    }
}

/// Which can be read, or written where that is wanted; waits for the first until `deadline`.
fn wait(connections: &[Connection], deadline: Instant) -> Result<Vec<usize>, String> {
    let flags = |of: &Connection| {
        if of.has_unsent() { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN }
    };
    let mut fds: Vec<_> = connections.iter().map(|of| PollFd::new(of, flags(of))).collect();
    let left = Timespec::try_from(deadline.since(now())).map_err(|error| error.to_string())?;
    match poll(&mut fds, Some(&left)) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(format!("cannot wait for the server: {error}")),
    }
    let all = fds.iter().enumerate();
    Ok(all.filter(|(_, fd)| !fd.revents().is_empty()).map(|(at, _)| at).collect())
}
