//! The server: loops that own connections, from bytes to responses.
//!
//! `event_loop` is one loop's life, `ingress` turns bytes into admitted jobs, `execution` runs
//! them, `egress` sends what came of it, `introspect` tells of it, `budgets` bounds how long they queue,
//! `connection` is one client, `acceptor` lets clients in.

mod acceptor;
mod budgets;
mod connection;
mod egress;
mod event_loop;
mod execution;
mod ingress;
mod introspect;

use crate::bell::Doorbell;
use crate::config::{Placement, ServerConfig};
use crate::counters::{Published, Totals};
use crate::net::{Address, ListenError, Listener, Stream};
use crate::poll::{EventBell, Poller};
use crate::service::{Reply, Request, Service};
use crate::time::now;
use crate::worker::{Done, Limits, Pool, Ticket};
use crossbeam_queue::SegQueue;
use event_loop::EventLoop;
use rustix::io::Errno;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::thread::JoinHandle;
use std::time::Duration;
use tailwater_control::{Admission, Gauges};
use tailwater_core::{Instant, Nanos, Observer, RequestId, Silent};
use tailwater_sync::budget::{self, TaskBudget};

/// A running server. Dropping it stops it at once; [`Server::drain`] stops it gracefully.
pub struct Server {
    address: Address,
    shared: Arc<Shared>,
    loops: Vec<JoinHandle<()>>,
    workers: Vec<JoinHandle<()>>,
    pool: Option<Arc<Pool>>,
}

/// Why a server did not start. The message says who must act.
#[derive(Debug)]
pub enum StartError {
    /// The configuration cannot work.
    Config(String),
    /// The address cannot be listened on.
    Listen(Address, ListenError),
    /// The system is out of something: descriptors, threads, memory.
    System(std::io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(why) => f.write_str(why),
            Self::Listen(address, error) => write!(f, "cannot listen on {address}: {error}"),
            Self::System(error) => write!(f, "cannot start: {error}"),
        }
    }
}

impl std::error::Error for StartError {}

impl From<Errno> for StartError {
    fn from(errno: Errno) -> Self {
        Self::System(errno.into())
    }
}

impl Server {
    /// Listens and starts the loops; requests are served when this returns.
    ///
    /// # Errors
    /// When the configuration is wrong, the address taken, or the system out of resources.
    pub fn start<S: Service>(
        config: ServerConfig,
        admission: Arc<dyn Admission>,
        service: S,
    ) -> Result<Self, StartError> {
        Self::start_observed(config, admission, service, |_| Box::new(Silent))
    }

    /// As [`Server::start`]; the controller's half in loop *i* tells its decisions to `observe(i)`.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub fn start_observed<S: Service>(
        config: ServerConfig,
        admission: Arc<dyn Admission>,
        service: S,
        mut observe: impl FnMut(usize) -> Box<dyn Observer + Send>,
    ) -> Result<Self, StartError> {
        config.check().map_err(StartError::Config)?;
        let listener = Listener::bind(&config.listen)
            .map_err(|error| StartError::Listen(config.listen.clone(), error))?;
        if let Some(keep_alive) = config.keep_alive {
            listener.set_keep_alive(keep_alive)?;
        }
        let address = listener.address().clone();
        let inboxes: Vec<_> = (0..config.loops).map(|_| Inbox::new()).collect::<Result<_, _>>()?;
        let shared = Arc::new(Shared::new(config, admission, inboxes.into()));
        let service = Arc::new(replying(service));
        let mut server =
            Self { address, shared, loops: Vec::new(), workers: Vec::new(), pool: None };
        if let Placement::Workers(count) = server.shared.config.placement {
            let (config, inboxes) = (&server.shared.config, server.shared.inboxes.clone());
            let limits = Limits { tasks: config.tasks_max, budgets: config.locks.is_some() };
            let (pool, workers) =
                Pool::start(count, limits, service.clone(), inboxes).map_err(StartError::System)?;
            (server.pool, server.workers) = (Some(pool), workers);
        }
        let mut listener = Some(listener);
        for index in 0..server.shared.config.loops {
            server.start_loop(index, listener.take(), service.clone(), observe(index))?;
        }
        Ok(server)
    }

    fn start_loop<S: Service<Future: Future<Output = Reply>>>(
        &mut self,
        index: usize,
        listener: Option<Listener>,
        service: Arc<S>,
        observer: Box<dyn Observer + Send>,
    ) -> Result<(), StartError> {
        let (shared, pool) = (self.shared.clone(), self.pool.clone());
        if let Some(&core) = shared.config.cores.get(index) {
            check_core(core)?;
        }
        let poller = Poller::new()?;
        let thread = std::thread::Builder::new()
            .name(format!("tailwater-loop-{index}"))
            .spawn(move || {
                EventLoop::new(shared, index, poller, listener, pool, observer).run(&*service);
            })
            .map_err(StartError::System)?;
        self.loops.push(thread);
        Ok(())
    }

    /// Where it listens, with the port that was really taken.
    #[must_use]
    pub const fn address(&self) -> &Address {
        &self.address
    }

    /// Counts over all loops since the start; at most a millisecond or a turn old.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.shared.totals()
    }

    /// The controller's state.
    #[must_use]
    pub fn gauges(&self) -> Gauges {
        self.shared.admission.gauges()
    }

    /// Lets nobody new in, sheds new requests as `draining`, finishes what was admitted, says
    /// goodbye and returns: when all is done, or after `patience`.
    pub fn drain(mut self, patience: Duration) {
        self.shared.begin_drain(now() + patience);
        self.join();
    }

    fn join(&mut self) {
        for thread in self.loops.drain(..) {
            // A loop that panicked has printed why; the others still end in order.
            let _ = thread.join();
        }
        if let Some(pool) = self.pool.take() {
            pool.stop();
        }
        for thread in self.workers.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.begin_drain(Instant::ZERO);
        self.join();
    }
}

/// What a handler returns becomes a reply as part of the handler: should that panic, then the request
/// fails, and not the thread.
fn replying<S: Service>(service: S) -> impl Service<Future: Future<Output = Reply>> {
    move |request| {
        let running = service.call(request);
        async move { running.await.into() }
    }
}

/// Pinning must fail before the thread starts, where the caller can still be told.
fn check_core(core: usize) -> Result<(), StartError> {
    let before = rustix::thread::sched_getaffinity(None)?;
    let result = crate::cpu::pin(core).map_err(StartError::Config);
    rustix::thread::sched_setaffinity(None, &before)?;
    result
}

/// What the loops of a server have in common.
pub(crate) struct Shared {
    pub(crate) config: ServerConfig,
    pub(crate) admission: Arc<dyn Admission>,
    pub(crate) inboxes: Arc<[Inbox]>,
    counters: Vec<Published>,
    connections: AtomicUsize,
    /// When to give up draining, in nanoseconds; `u64::MAX` while not draining.
    drain_until_ns: AtomicU64,
}

impl Shared {
    fn new(config: ServerConfig, admission: Arc<dyn Admission>, inboxes: Arc<[Inbox]>) -> Self {
        Self {
            counters: inboxes.iter().map(|_| Published::default()).collect(),
            config,
            admission,
            inboxes,
            connections: AtomicUsize::new(0),
            drain_until_ns: AtomicU64::new(u64::MAX),
        }
    }

    fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for published in &self.counters {
            published.add_to(&mut totals);
        }
        totals
    }

    fn begin_drain(&self, until: Instant) {
        self.drain_until_ns.fetch_min(until.as_nanos(), SeqCst);
        for inbox in &*self.inboxes {
            // Rung without looking: a loop may be between its last check and its sleep.
            inbox.doorbell.notify();
            crate::bell::Bell::ring(&inbox.bell);
        }
    }

    fn draining_until(&self) -> Option<Instant> {
        let until = self.drain_until_ns.load(Relaxed);
        (until != u64::MAX).then(|| Instant::from_nanos(until))
    }
}

/// What other threads leave for a loop.
pub(crate) struct Inbox {
    pub(crate) streams: SegQueue<Stream>,
    pub(crate) done: SegQueue<Done>,
    pub(crate) doorbell: Arc<Doorbell>,
    bell: EventBell,
}

impl Inbox {
    fn new() -> Result<Self, Errno> {
        let bell = EventBell::new()?;
        Ok(Self {
            streams: SegQueue::new(),
            done: SegQueue::new(),
            doorbell: Arc::new(Doorbell::new(Box::new(bell.clone()))),
            bell,
        })
    }

    fn is_empty(&self) -> bool {
        self.streams.is_empty() && self.done.is_empty()
    }
}

/// An admitted request that waits to be run.
pub(crate) struct Job {
    connection: u32,
    generation: u32,
    id: RequestId,
    /// When it reached this machine, as far as can be told.
    arrived: Instant,
    /// How long it may queue, where that is limited.
    budget: Option<TaskBudget>,
    pub(crate) request: Request,
}

impl Job {
    /// It starts now. What it waited in queues until then is deducted from its budget.
    pub(crate) fn ticket(&self, started: Instant) -> Ticket {
        let budget = self.budget.map(|mut budget| {
            let entered = budget::enter(&mut budget);
            budget::deduct(started.since(self.arrived));
            drop(entered);
            budget
        });
        Ticket {
            budget,
            bytes: self.request.payload.len(),
            connection: self.connection,
            generation: self.generation,
            id: self.id,
            arrived: self.arrived,
            started,
        }
    }
}

/// How long ago, in nanoseconds, for the wire.
fn wire_ns(from: Instant, to: Instant) -> u32 {
    tailwater_wire::saturating_ns(Duration::from_nanos(to.nanos_since(from)))
}

/// Keeps `Nanos` in scope for the submodules that measure.
fn nanos(duration: Duration) -> u64 {
    duration.nanos()
}
