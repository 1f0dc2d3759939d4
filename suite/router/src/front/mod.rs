//! Clients that speak memcached's protocol, and the one thread that serves them.

mod clients;
mod client;
mod command;
mod exchange;

pub(crate) use exchange::refused;

use crate::nodes::{Nodes, NodesConfig};
use crate::placement::{Placement, PlacementError};
use client::Shared;
use clients::Clients;
use rustix::io::Errno;
use std::fmt::{self, Display, Write as _};
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tailwater_core::Instant;
use tailwater_keyvalue::memcached::buffers::Pool;
use tailwater_rt::net::Stream;
use tailwater_rt::poll::{Interest, Poller};
use tailwater_rt::time::now;

/// Keys of the poller that are not clients': no place has such a number. Nodes' are from here on.
const FIRST_NODE: u64 = u64::MAX - (1 << 16);
const LISTENER: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;
/// Read at a time.
const SCRATCH_BYTES: usize = 64 << 10;
/// Connections accepted in a turn.
const ACCEPTS: usize = 64;
/// Connections that may wait to be accepted. With the standard library's 128 some of those that a generator begins at once are
/// tried again a second later.
const BACKLOG: i32 = 16_384;
/// How often a client's commands are taken anew in one turn, some hundreds each time: what it reads fast enough would otherwise go on to the
/// end of its input, and others wait.
const GOES: usize = 4;
/// How often it is looked for clients that are overdue.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// After an accept that failed: descriptors may come free.
const RETRY_AFTER: Duration = Duration::from_millis(10);

/// How a router meets its clients.
#[derive(Clone, Debug)]
pub struct FrontConfig {
    /// Connections at a time, 1 to 65,536; further ones are told that there is no place. Default 1,024.
    pub connections_max: usize,
    /// A connection that is silent for so long between two commands ends; `None` for never. Default 1 hour.
    pub idle_max: Option<Duration>,
    /// A peer that moves no byte for so long, amid a command or with answers to take, is cut off. Default 30 s.
    pub patience: Duration,
    /// Bytes that all connections together may borrow, beyond 32 KiB of commands and 192 KiB of answers for each.
    /// Commands that nodes have not taken may borrow as many again, beyond 256 KiB for each node. Default 64 MiB.
    pub buffers: usize,
}

impl Default for FrontConfig {
    fn default() -> Self {
        Self {
            connections_max: 1_024,
            idle_max: Some(Duration::from_secs(3_600)),
            patience: Duration::from_secs(30),
            buffers: 64 << 20,
        }
    }
}

/// Why a router cannot start.
#[derive(Debug)]
pub enum StartError {
    /// Nodes and replicas do not fit.
    Placement(PlacementError),
    /// The address cannot be listened on.
    Listen(io::Error),
    /// The kernel refuses something else.
    System(io::Error),
}

impl Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Placement(error) => error.fmt(f),
            Self::Listen(error) => write!(f, "cannot listen: {error}"),
            Self::System(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for StartError {}

impl From<Errno> for StartError {
    fn from(errno: Errno) -> Self {
        Self::System(errno.into())
    }
}

/// A router that runs. Dropping it stops it, once the commands under way are answered: no later than each replica of
/// a key could be silent for [`NodesConfig::timeout`], one after the other.
#[derive(Debug)]
pub struct Router {
    address: SocketAddr,
    stop: UnixStream,
    thread: Option<JoinHandle<()>>,
}

impl Router {
    /// Connects to the nodes, and serves clients at `address` as soon as each has been reached or found
    /// unreachable; port zero chooses a free one.
    ///
    /// # Errors
    /// When the address cannot be listened on, or nodes and replicas do not fit.
    pub fn start(
        nodes: &NodesConfig,
        address: impl ToSocketAddrs,
        front: FrontConfig,
    ) -> Result<Self, StartError> {
        let back = Nodes::new(nodes, FIRST_NODE, front.buffers).map_err(StartError::Placement)?;
        Self::before(back, drain_max(nodes), address, front)
    }

    /// The same with keys on nodes by this placement, of as many nodes.
    pub(crate) fn placed(
        nodes: &NodesConfig,
        placement: Placement,
        address: impl ToSocketAddrs,
        front: FrontConfig,
    ) -> Result<Self, StartError> {
        let back = Nodes::placed(nodes, placement, FIRST_NODE, front.buffers);
        Self::before(back, drain_max(nodes), address, front)
    }

    fn before(
        nodes: Nodes,
        drain_max: Duration,
        address: impl ToSocketAddrs,
        front: FrontConfig,
    ) -> Result<Self, StartError> {
        let listener = TcpListener::bind(address).map_err(StartError::Listen)?;
        rustix::net::listen(&listener, BACKLOG)?;
        let address = listener.local_addr().map_err(StartError::Listen)?;
        listener.set_nonblocking(true).map_err(StartError::System)?;
        let (stop, stopped) = UnixStream::pair().map_err(StartError::System)?;
        let poller = Poller::new()?;
        poller.add(&stopped, STOP, Interest::READ)?;
        let turns = Turns {
            clients: Clients::new(front.connections_max.clamp(1, 1 << 16)),
            pool: Arc::new(Pool::new(front.buffers)),
            listener,
            listens_from: None,
            front,
            nodes,
            poller,
            _stopped: stopped,
            drain_max,
            stops_at: None,
            looked_at: now(),
            started: now(),
            counts: Counts::default(),
        };
        let thread = std::thread::Builder::new()
            .name("router".into())
            .spawn(move || turns.run())
            .map_err(StartError::System)?;
        Ok(Self { address, stop, thread: Some(thread) })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether its thread serves: it has not panicked.
    pub(crate) fn is_well(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }
}

/// How long commands under way may take after it was told to stop.
const fn drain_max(nodes: &NodesConfig) -> Duration {
    nodes.timeout.saturating_mul(nodes.replicas as u32)
}

impl Drop for Router {
    fn drop(&mut self) {
        // It fails only when the thread has ended.
        let _ = self.stop.shutdown(std::net::Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What became of connections.
#[derive(Clone, Copy, Default, Debug)]
struct Counts {
    ever: u64,
    rejected: u64,
    cut_off: u64,
    /// Errors of commands with `noreply`.
    silenced: u64,
}

/// The thread's.
struct Turns {
    front: FrontConfig,
    clients: Clients,
    nodes: Nodes,
    pool: Arc<Pool>,
    poller: Poller,
    listener: TcpListener,
    /// When clients are let in again; `None` while they are.
    listens_from: Option<Instant>,
    _stopped: UnixStream,
    /// How long commands under way may take after it was told to stop.
    drain_max: Duration,
    stops_at: Option<Instant>,
    looked_at: Instant,
    started: Instant,
    counts: Counts,
}

impl Turns {
    fn run(mut self) {
        let mut scratch = vec![0; SCRATCH_BYTES];
        let mut ready = Vec::new();
        // Clients are let in once it is known which nodes are there: a write that passes one by which is about to
        // be reached would have it forget what it holds.
        self.listens_from = Some(Instant::ZERO);
        while !self.is_over(now()) {
            self.poller.wait(self.timeout(), &mut ready);
            let time = now();
            for readiness in ready.drain(..) {
                self.on_ready(time, readiness, &mut scratch);
            }
            self.turn(time, &mut scratch);
        }
    }

    fn is_over(&self, time: Instant) -> bool {
        self.stops_at.is_some_and(|at| time >= at || !self.clients.are_busy())
    }

    fn on_ready(
        &mut self,
        time: Instant,
        readiness: tailwater_rt::poll::Readiness,
        scratch: &mut [u8],
    ) {
        match readiness.key {
            LISTENER => self.accept(time),
            STOP => {
                if self.stops_at.is_none() {
                    self.stops_at = Some(time + self.drain_max);
                    self.clients.leave();
                    self.stop_listening(None);
                    let _ = self.poller.remove(&self._stopped);
                }
            }
            key if self.nodes.has(key) => {
                let clients = &mut self.clients;
                self.nodes.on_ready(time, &self.poller, readiness, scratch, |ticket, outcome| {
                    if let Some(client) = clients.touch(ticket.client) {
                        client.end(ticket.command, outcome);
                    }
                });
            }
            key => {
                if let Some(client) = self.clients.touch(key) {
                    client.on_ready(time, readiness, scratch);
                }
            }
        }
    }

    fn turn(&mut self, time: Instant, scratch: &mut [u8]) {
        let clients = &mut self.clients;
        self.nodes.turn(time, &self.poller, scratch, |ticket, outcome| {
            if let Some(client) = clients.touch(ticket.client) {
                client.end(ticket.command, outcome);
            }
        });
        self.listen_again(time);
        self.clients.touch_again();
        // What clients have asked goes out once for each node; what that finds lost is settled until nothing is.
        loop {
            self.settle();
            self.serve(time);
            // If this process was stopped since `time`, the nodes have not been silent for that long.
            self.nodes.flush(now(), &self.poller);
            if !self.settle() && !self.clients.has_touched() {
                break;
            }
        }
        self.look_for_overdue(time);
    }

    fn settle(&mut self) -> bool {
        let clients = &mut self.clients;
        self.nodes.settle(|ticket, outcome| {
            if let Some(client) = clients.touch(ticket.client) {
                client.end(ticket.command, outcome);
            }
        })
    }

    fn serve(&mut self, time: Instant) {
        let (open, pool, counts) = (self.clients.len(), &self.pool, self.counts);
        let uptime = time.since(self.started).as_secs();
        let report = |nodes: &Nodes, out: &mut Vec<u8>| {
            let mut text = String::new();
            let mut line = |name: &str, value: &dyn Display| {
                let _ = write!(text, "STAT {name} {value}\r\n");
            };
            line("pid", &std::process::id());
            line("uptime", &uptime);
            line("version", &env!("CARGO_PKG_VERSION"));
            line("curr_connections", &open);
            line("total_connections", &counts.ever);
            line("rejected_connections", &counts.rejected);
            line("cut_off_connections", &counts.cut_off);
            line("noreply_errors", &counts.silenced);
            line("buffer_bytes_lent", &pool.lent());
            nodes.report(line);
            out.extend_from_slice(text.as_bytes());
        };
        let shared = Shared { report: &report };
        let (nodes, poller, silenced) = (&mut self.nodes, &self.poller, &mut self.counts.silenced);
        self.clients.each_touched(|client| {
            client.proceed(time, nodes, &shared);
            let mut goes_on = client.flush(time) && client.has_more();
            // What did not fit into the output may fit now.
            for _ in 0..GOES {
                if !goes_on {
                    break;
                }
                client.proceed(time, nodes, &shared);
                goes_on = client.flush(time) && client.has_more();
            }
            *silenced += client.take_silenced();
            client.watch(poller);
            goes_on
        });
    }

    fn accept(&mut self, time: Instant) {
        for _ in 0..ACCEPTS {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    self.counts.ever += 1;
                    let _ = stream.set_nodelay(true);
                    let Ok(stream) = Stream::try_from(OwnedFd::from(stream)) else { continue };
                    let added = self.clients.add(stream, &self.poller, &self.pool, time);
                    if let Err(stream) = added {
                        self.counts.rejected += 1;
                        let _ = stream.write(b"ERROR Too many open connections\r\n");
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                // Out of descriptors or memory.
                Err(_) => {
                    self.stop_listening(Some(time + RETRY_AFTER));
                    break;
                }
            }
        }
    }

    fn stop_listening(&mut self, until: Option<Instant>) {
        if self.listens_from.is_none() {
            let _ = self.poller.remove(&self.listener);
        }
        self.listens_from = Some(until.unwrap_or(Instant::from_nanos(u64::MAX)));
    }

    fn listen_again(&mut self, time: Instant) {
        let is_time = self.listens_from.is_some_and(|from| from <= time);
        if is_time && self.stops_at.is_none() && self.nodes.were_tried() {
            self.listens_from = match self.poller.add(&self.listener, LISTENER, Interest::READ) {
                Ok(()) => None,
                Err(_) => Some(time + RETRY_AFTER),
            };
        }
    }

    fn look_for_overdue(&mut self, time: Instant) {
        if time.since(self.looked_at) >= LOOK_EVERY {
            self.looked_at = time;
            let (patience, idle) = (self.front.patience, self.front.idle_max);
            let ended = self.clients.end_where(|client| client.is_overdue(time, patience, idle));
            self.counts.cut_off += ended;
        }
    }

    fn timeout(&self) -> Option<Duration> {
        if self.clients.go_on() {
            return Some(Duration::ZERO);
        }
        let time = now();
        let looks = (self.clients.len() > 0).then(|| self.looked_at + LOOK_EVERY);
        let listens = self.listens_from.filter(|from| *from > time && self.stops_at.is_none());
        let due = [self.nodes.next_due(), looks, listens, self.stops_at];
        due.into_iter().flatten().min().map(|at| at.since(time))
    }
}
