//! The server: loops that own connections, from bytes to responses.
//!
//! A loop is a pipeline of stages, each of which owns its state; `event_loop::EventLoop::turn` says in which
//! order they have theirs:
//!
//! 1. `acceptor` lets clients in; `connections` keeps them by key (`key`). A `connection` has an `input`, an
//!    `output`, and its `work`: the requests that are not answered.
//! 2. `sockets` asks the kernel and `intake` gives each its go; `arrival` takes frames and asks `control`, which
//!    owns the loop's half of the controller, for its verdict.
//! 3. `run_queue` holds what was admitted (`job`); `running` gives each its turn and `runner` runs it.
//! 4. `ending` tells the controller how a request ended, and `egress` turns the answer into bytes.
//! 5. `closing` sends them and ends connections; `liveness` knows which of them owe us something.
//!
//! Beside them: `greeting` is the first frame, `introspect` tells the server's counts, and `budgets` bounds how
//! long requests queue at locks. `inbox` is what other threads leave for a loop. `drain` says how far the end is, which
//! `last_turns` are in order. `threads` starts and joins everything.

mod acceptor;
mod arrival;
mod budgets;
mod clock;
mod closing;
mod connection;
mod connections;
mod control;
mod drain;
mod egress;
mod ending;
mod event_loop;
mod greeting;
mod inbox;
mod input;
mod intake;
mod introspect;
mod job;
mod key;
mod last_turns;
mod liveness;
mod model;
mod output;
mod progress;
mod run_queue;
mod runner;
mod running;
mod send_clock;
mod shared;
mod sockets;
#[cfg(all(test, not(loom)))]
mod testing;
mod threads;
mod tokens;
mod work;

use crate::config::{Model, ServerConfig};
use crate::counters::Totals;
use crate::counts::TierCounts;
use crate::cpu::PinError;
use crate::downstream::TierConfig;
use crate::net::{Address, ListenError, Listener};
use crate::service::{Reply, Service};
use crate::time::now;
use inbox::Inbox;
use rustix::io::Errno;
use shared::Shared;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tailwater_control::{Admission, ConfigError, Gauges};
use tailwater_core::{Observer, Silent};
use threads::Threads;

/// A running server. Dropping it stops it at once; [`Server::drain`] stops it gracefully.
///
/// Both wait for the server's threads, except on one of these, for instance in a handler: there they begin the
/// end and return.
pub struct Server {
    address: Address,
    shared: Arc<Shared>,
    threads: Threads,
}

/// What a drain has left.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[must_use = "what was not answered is told here alone"]
pub struct Drained {
    /// Requests that were accepted and not answered within the caller's patience, or before the server failed.
    pub unanswered: u64,
    /// Connections that had not taken all their answers by then.
    pub unsent: u64,
    /// Why the server had failed, if it had.
    pub failure: Option<String>,
}

/// What is left to do until a server has drained; at most a millisecond or a turn old.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Remaining {
    /// Connections that are open, of loops that have not ended.
    pub connections: u64,
    /// Requests that wait or run.
    pub unanswered: u64,
}

/// Why a server did not start. The message says who must act.
#[derive(Debug)]
pub enum StartError {
    /// The configuration cannot work.
    Config(ConfigError),
    /// A core of [`ServerConfig::cores`] cannot be had.
    Core(PinError),
    /// The address cannot be listened on.
    Listen(Address, ListenError),
    /// The system is out of something: descriptors, threads, memory.
    System(std::io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::Core(error) => error.fmt(f),
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
        mut config: ServerConfig,
        admission: Arc<dyn Admission>,
        service: S,
        observe: impl FnMut(usize) -> Box<dyn Observer + Send>,
    ) -> Result<Self, StartError> {
        config.check().map_err(StartError::Config)?;
        config.tiers.iter_mut().for_each(TierConfig::count_anew);
        config.check_controller(&*admission).map_err(StartError::Config)?;
        let listener = Listener::bind(&config.listen)
            .map_err(|error| StartError::Listen(config.listen.clone(), error))?;
        #[cfg(feature = "tls")]
        let listener = listener.with_tls(config.tls.clone());
        if let Some(keep_alive) = config.keep_alive {
            listener.set_keep_alive(keep_alive)?;
        }
        let listener = listener.with_rules(&config.sockets).map_err(StartError::Config)?;
        let address = listener.address().clone();
        let inboxes: Vec<_> = (0..config.loops).map(|_| Inbox::new()).collect::<Result<_, _>>()?;
        let shared = Arc::new(Shared::new(config, admission, inboxes.into()));
        let threads = Threads::start(shared.clone(), listener, replying(service), observe)?;
        Ok(Self { address, shared, threads })
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

    /// What its threads have counted of each tier that its handlers call, since the start.
    #[must_use]
    pub fn tiers(&self) -> Vec<TierCounts> {
        self.shared.config.tiers.iter().map(TierConfig::counts).collect()
    }

    /// Why the server has failed, if it has: one of its threads panicked. Then all of them end, the clients
    /// are told, and nothing is served any more.
    #[must_use]
    pub fn failure(&self) -> Option<&str> {
        self.shared.failure()
    }

    /// The threading model by which requests begin now.
    #[must_use]
    pub fn model(&self) -> Model {
        self.shared.models.present()
    }

    /// Changes the threading model. Returns at once; each loop follows within a turn, and wakes up for it
    /// ([`Server::is_model_followed`]). What has begun ends on the thread on which it began: no request is lost, and
    /// none is carried out twice. What waits for a fan is the model's completion when the fan is first polled.
    ///
    /// # Errors
    /// When the model needs more threads than were started ([`ServerConfig::workers_max`], [`ServerConfig::crew_max`]).
    pub fn set_model(&self, model: Model) -> Result<(), ConfigError> {
        self.threads.set_model(model)
    }

    /// Whether every loop follows the present model: what they begin or hand to workers from now on follows it.
    #[must_use]
    pub fn is_model_followed(&self) -> bool {
        self.shared.models.is_followed()
    }

    /// Begins to drain and returns: nobody new is let in, new requests are shed as `draining`, what was
    /// accepted is answered and sent, and each client is told goodbye. What is not done after `patience` is
    /// given up; [`Duration::MAX`] waits for as long as it takes. Of several calls the shortest patience counts.
    pub fn begin_drain(&self, patience: Duration) {
        self.shared.begin_drain(now() + patience);
    }

    /// What is left to do.
    #[must_use]
    pub fn remaining(&self) -> Remaining {
        self.shared.remaining()
    }

    /// Drains as [`Server::begin_drain`] says, and waits for the end: when all is done, or after `patience`.
    pub fn drain(mut self, patience: Duration) -> Drained {
        self.begin_drain(patience);
        if self.threads.is_one_of_them() {
            self.threads.detach();
        } else {
            self.threads.join();
        }
        Drained {
            // Relaxed: the loops have been joined. Where they could not be, this is what they have counted so far.
            unanswered: self.shared.unanswered.load(Relaxed),
            unsent: self.shared.unsent.load(Relaxed),
            failure: self.failure().map(Into::into),
        }
    }
}

/// What a handler returns becomes a reply as part of the handler: should that panic, then the request
/// fails, and not the thread.
fn replying<S: Service>(service: S) -> impl Service<Future: Future<Output = Reply>> {
    move |request| {
        let running = service.call(request);
        async move { running.await.into().checked() }
    }
}

/// Pinning must fail before the thread starts, where the caller can still be told.
fn check_core(core: usize) -> Result<(), StartError> {
    let before = rustix::thread::sched_getaffinity(None)?;
    let result = crate::cpu::pin(core);
    rustix::thread::sched_setaffinity(None, &before)?;
    result.map_err(StartError::Core)
}
