//! An open loop of requests at a rate, and what they cost the server.

use super::connection::Connection;
use super::error::ForeignError;
use super::protocol::{ForeignAsk, Protocol};
use crate::memory::memory;
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
pub struct ForeignPlan {
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
pub struct ForeignFindings {
    /// Requests that were due in it.
    pub intended: u64,
    /// Of these, with an answer until the end of the drain.
    pub answered: u64,
    /// From their intended times. What has no answer counts as old as it is at the end of the drain.
    pub latency: Histogram,
    /// How late they were sent.
    pub lateness: Histogram,
    /// What the server's process used from the window's begin to its end.
    pub server: Usage,
    /// Answers that arrived meanwhile, also those to requests that were due before. It is what `server` was used for:
    /// answers of the drain cost what is not in it.
    pub served: u64,
    /// Its resident memory at the end, in bytes.
    pub memory: u64,
}

/// Sets every key, then asks at the plan's rate on this thread.
///
/// # Errors
/// When the server cannot be reached, ends a connection, or gives an answer that is not the right one.
pub fn run(plan: &ForeignPlan) -> Result<ForeignFindings, ForeignError> {
    let open = |_| Connection::open(plan.protocol, plan.address);
    let connections = (0..plan.connections).map(open).collect::<Result<Vec<_>, _>>();
    let unreachable = |error| ForeignError::Unreachable(plan.address, error);
    let mut connections = connections.map_err(unreachable)?;
    fill(plan, &mut connections[0])?;
    Loop::new(plan, connections).run()
}

/// Sets every key, so that each GET finds what it expects.
fn fill(plan: &ForeignPlan, connection: &mut Connection) -> Result<(), ForeignError> {
    for first in (0..plan.keys).step_by(FILLED_AT_ONCE as usize) {
        for key in first..plan.keys.min(first + FILLED_AT_ONCE) {
            connection.send(ForeignAsk::Set(key), now())?;
        }
        let mut deadline = now() + SILENCE;
        while connection.unanswered() > 0 {
            if now() >= deadline {
                return Err(ForeignError::Silent(SILENCE));
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
    plan: &'a ForeignPlan,
    connections: Vec<Connection>,
    rng: Rng,
    start: Instant,
    /// When the next request is due.
    next: Instant,
    /// Whether the server's use is being measured.
    in_window: bool,
    /// Of requests that too many open ones kept from being sent, the intended times.
    unsent: Vec<Instant>,
    findings: ForeignFindings,
}

impl<'a> Loop<'a> {
    fn new(plan: &'a ForeignPlan, connections: Vec<Connection>) -> Self {
        let start = now();
        let (latency, lateness) = (Histogram::new(), Histogram::new());
        let findings = ForeignFindings {
            intended: 0,
            answered: 0,
            latency,
            lateness,
            server: Usage::default(),
            served: 0,
            memory: 0,
        };
        Self {
            plan,
            connections,
            rng: Rng::from_seed(plan.seed),
            start,
            next: start,
            in_window: false,
            unsent: Vec::new(),
            findings,
        }
    }

    fn run(mut self) -> Result<ForeignFindings, ForeignError> {
        let (from, to) = self.window();
        let usage = || Usage::of(self.plan.server_pid).ok_or(ForeignError::Ended);
        let mut before = None;
        // The window ends at its time, or with its last request where that is sent late.
        while self.next < to || now() < to {
            if before.is_none() && now() >= from {
                before = Some(usage()?);
                self.in_window = true;
            }
            self.send_due()?;
            // No sleep goes beyond the window's begin: it would begin late.
            let until = if before.is_none() { from } else { to };
            self.receive(self.next.min(until))?;
        }
        let before = before.map_or_else(usage, Ok)?;
        self.findings.server = usage()?.since(&before);
        self.in_window = false;
        self.findings.memory = memory(self.plan.server_pid);
        let limit = now() + DRAIN;
        while now() < limit && self.connections.iter().any(|of| of.unanswered() > 0) {
            self.receive(limit)?;
        }
        self.count_unanswered(now());
        Ok(self.findings)
    }

    /// Without them a server that answers half of its requests would look faster than one that is slow with them.
    fn count_unanswered(&mut self, end: Instant) {
        let (from, _) = self.window();
        let open = self.connections.iter().flat_map(Connection::open_since);
        for intended in open.chain(self.unsent.iter().copied()).filter(|at| *at >= from) {
            self.findings.latency.record(end.since(intended));
        }
    }

    /// Begin and end of what is counted.
    fn window(&self) -> (Instant, Instant) {
        let from = self.start + self.plan.warm_up;
        (from, from + self.plan.measure)
    }

    fn send_due(&mut self) -> Result<(), ForeignError> {
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
            let ask = if self.rng.chance(self.plan.gets) {
                ForeignAsk::Get(key)
            } else {
                ForeignAsk::Set(key)
            };
            let connections = u32::try_from(self.connections.len()).unwrap_or(u32::MAX);
            let connection = self.rng.below(connections) as usize;
            if intended >= from {
                self.findings.intended += 1;
                self.findings.lateness.record(time.since(intended));
            }
            if !self.connections[connection].send(ask, intended)? {
                self.unsent.push(intended);
            }
        }
        Ok(())
    }

    /// Takes answers; where the loop sleeps, it waits for them until `deadline`.
    fn receive(&mut self, deadline: Instant) -> Result<(), ForeignError> {
        let (from, _) = self.window();
        let deadline = if self.plan.spins { self.start } else { deadline };
        for at in wait(&self.connections, deadline)? {
            let connection = &mut self.connections[at];
            connection.flush()?;
            connection.receive(&mut |intended| {
                self.findings.served += u64::from(self.in_window);
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
fn wait(connections: &[Connection], deadline: Instant) -> Result<Vec<usize>, ForeignError> {
    let flags = |of: &Connection| {
        if of.has_unsent() { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN }
    };
    let mut fds: Vec<_> = connections.iter().map(|of| PollFd::new(of, flags(of))).collect();
    // Longer than a timespec holds is for ever.
    let left = Timespec::try_from(deadline.since(now())).ok();
    match poll(&mut fds, left.as_ref()) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(ForeignError::System(error.into())),
    }
    let all = fds.iter().enumerate();
    Ok(all.filter(|(_, fd)| !fd.revents().is_empty()).map(|(at, _)| at).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::thread;

    /// What key 0 is set by, of which the tests send nothing else.
    fn length() -> usize {
        let mut bytes = Vec::new();
        Protocol::Memcached.request(ForeignAsk::Set(0), &mut bytes);
        bytes.len()
    }

    fn plan(address: SocketAddr) -> ForeignPlan {
        ForeignPlan {
            protocol: Protocol::Memcached,
            address,
            server_pid: std::process::id(),
            connections: 1,
            keys: 1,
            gets: 0.0,
            requests_per_second: 1_000.0,
            warm_up: Duration::ZERO,
            measure: Duration::from_millis(20),
            seed: 1,
            spins: false,
        }
    }

    /// Runs the plan against a server that this is.
    fn driven(server: impl FnOnce(TcpStream) + Send) -> ForeignFindings {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let address = listener.local_addr().expect("bound");
        thread::scope(|scope| {
            scope.spawn(|| server(listener.accept().expect("it connects").0));
            run(&plan(address)).expect("every answer is right")
        })
    }

    /// Bytes that arrive, until the other end closes.
    fn read(stream: &mut TcpStream) -> Option<usize> {
        stream.read(&mut [0; 4_096]).ok().filter(|count| *count > 0)
    }

    #[test]
    fn answers_of_the_drain_are_not_what_the_window_was_used_for() {
        // Whatever was asked is answered after a second without another request, and the window lasts for 20 ms.
        let found = driven(|mut stream| {
            stream.set_read_timeout(Some(Duration::from_secs(1))).expect("not zero");
            let mut bytes = 0;
            loop {
                match stream.read(&mut [0; 4_096]) {
                    Ok(0) => return,
                    Ok(count) => bytes += count,
                    Err(_) => {
                        let answers = b"STORED\r\n".repeat(bytes / length());
                        bytes = 0;
                        // The other end may have closed.
                        let _ = stream.write_all(&answers);
                    }
                }
            }
        });
        assert!(found.intended > 0);
        assert_eq!((found.answered, found.served), (found.intended, 0));
        assert_eq!(found.latency.count(), found.intended);
    }

    #[test]
    fn what_has_no_answer_is_as_old_as_the_drain_is_long() {
        let found = driven(|mut stream| {
            let mut bytes = 0;
            while bytes < length() {
                bytes += read(&mut stream).expect("the key is set");
            }
            stream.write_all(b"STORED\r\n").expect("it is read");
            while read(&mut stream).is_some() {}
        });
        assert!(found.intended > 0);
        assert_eq!((found.answered, found.served), (0, 0));
        assert_eq!(found.latency.count(), found.intended);
        // A bucket's lower end may be a little below what is in it.
        assert!(
            found.latency.quantile(0.01) > DRAIN * 9 / 10,
            "{:?}",
            found.latency.quantile(0.01)
        );
    }
}
