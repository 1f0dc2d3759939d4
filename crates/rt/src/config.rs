//! How a server runs. Plain values with sensible defaults; `ServerConfig::check` says what cannot be.

mod check;
mod tenants;

pub use tailwater_core::threads::{Completion, Model, Placement, Reception};
pub use tenants::Tenants;

use crate::downstream::TierConfig;
use crate::net::{Address, KeepAlive, SocketRules};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use tailwater_control::asqm::Policy;
use tailwater_core::words::WordError;

/// How long requests may queue, and what they do at locks that are taken (Protego §3.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LockRules {
    /// What `lock_within_budget` of `tailwater-sync` does for a request.
    pub policy: Policy,
    /// Within this the server shall answer or refuse. Budgets are what the 99th percentiles of service and network
    /// leave of it, and a quarter of it at least. Above the objective, requests wait in vain. If the target is close
    /// to the service time, the floor of a quarter applies and the target is missed.
    pub target: Duration,
    /// The budget of every request as a constant, where it is not to be measured. At most one hour, as for `target`
    /// and a timed policy's time; more is refused as a mistake.
    pub budget: Option<Duration>,
}

/// Whose questions for the server's counts are answered. The names of locks are among what is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Introspection {
    /// Clients on this machine: at a loopback address or a Unix socket.
    #[default]
    Local,
    /// Every client.
    Anyone,
    /// None.
    Off,
}

impl FromStr for Introspection {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, WordError> {
        match text {
            "local" => Ok(Self::Local),
            "anyone" => Ok(Self::Anyone),
            "off" => Ok(Self::Off),
            _ => Err(WordError::Unknown(&["local", "anyone", "off"])),
        }
    }
}

impl fmt::Display for Introspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Local => "local",
            Self::Anyone => "anyone",
            Self::Off => "off",
        })
    }
}

/// Handlers that one connection may always have by default: where few are allowed in all, there is often but
/// one client.
const TASKS_OF_ONE: usize = 32;

/// Everything a server needs besides its service and its controller.
#[derive(Clone, PartialEq, Debug)]
pub struct ServerConfig {
    /// Where to listen; default: a free port on loopback.
    pub listen: Address,
    /// Event loops, each a thread that owns its connections; default 1. More than the cores they
    /// may use makes them fight.
    pub loops: usize,
    /// Core of each loop, by position; loops without one are not pinned.
    pub cores: Vec<usize>,
    /// How threads share the work: how loops wait, where handlers run, and who waits for other tiers. It may be
    /// changed while the server serves ([`Server::set_model`](crate::Server::set_model)).
    pub model: Model,
    /// Most workers that a later model may have, up to 1,024; default: those of `model`. As many threads are started,
    /// and sleep while they are not needed. With tiers each has four descriptors, 64 KiB, and connections of its own
    /// to all servers. The controller goes on with the cores that it was built for.
    pub workers_max: Option<usize>,
    /// Most threads for handlers' calls that a later model may have, up to 1,024; default: those of `model`. As
    /// `workers_max`. Where it is not zero, each loop and each worker has one descriptor more. Without tiers none is started.
    pub crew_max: Option<usize>,
    /// Longest time that handlers of a loop run before its sockets are drained again, default
    /// 50 µs. Shorter costs system calls (below 20 µs, 1–2 % of capacity); longer hides queueing
    /// delay in sockets, where the signal cannot see it. Of one connection's requests that run as they come, and of those
    /// that had waited, sends between handlers may take as long again each. One handler that runs longer is not interrupted.
    pub drain_every: Duration,
    /// Objective told to clients; zero tells none.
    pub slo: Duration,
    /// Most connections; beyond it new ones get a goodbye. Default 65,536.
    pub connections_max: usize,
    /// Most requests waiting in a loop; beyond it they are shed as `queue-full`. Default 262,144. As many again
    /// may wait in it whose connections have all the handlers that they may have, or leave answers unread:
    /// beyond that, such connections' further requests are shed so, and those of others are not.
    pub queue_max: usize,
    /// Most requests of one connection that wait or run; beyond it they are shed as `queue-full`. Default
    /// 65,536.
    pub pending_max: usize,
    /// Most bytes of arguments of one connection's requests that wait or run; beyond it requests are
    /// shed as `queue-full`, but for one that comes alone. Default 8 MiB.
    pub pending_bytes_max: usize,
    /// Most handlers of a thread that wait for something at once; further requests stay queued.
    /// Default 65,536.
    pub tasks_max: usize,
    /// Unsent output of a connection from which it is neither read nor served; default 256 KiB. Handlers
    /// that run go on: a connection holds this much, and an answer for each of its handlers.
    pub output_high: usize,
    /// Unsent output of all connections, of which each loop has an equal share; default 256 MiB. Beyond it
    /// only connections are served that have read all of theirs.
    pub output_total_max: usize,
    /// Beginnings of frames and arguments of waiting requests, of all connections, of which each loop has
    /// an equal share; default 256 MiB. Beyond it requests are shed as `queue-full`; an unfinished frame of
    /// more than 4 KiB ends the connection that holds most.
    pub input_total_max: usize,
    /// How long a client may take over its HELLO, stop inside a frame, leave its output unread, or take to
    /// answer a PING; default 10 s.
    pub patience: Duration,
    /// Least bytes a second that a client must move, of a frame that has begun or of output that it has not read.
    /// Taken over each `patience`; default 1,024. A slower client ends with `idle` or `slow-reader`. Of a frame of n
    /// bytes the end is due after `patience` and n/rate.
    pub rate_min: u64,
    /// Silence after which a client is asked by a PING whether it is there; default 30 s. If nothing comes
    /// within `patience`, the connection ends with `idle`.
    pub ping_after: Duration,
    /// How a TCP client whose host is gone is noticed; default: after some 30 s. `None` never notices it
    /// while nothing is sent.
    pub keep_alive: Option<KeepAlive>,
    /// Options of the clients' TCP sockets; default: the machine's own.
    pub sockets: SocketRules,
    /// How clients must speak TLS; default `None`: not at all. A client has `patience` for the handshake
    /// and its HELLO.
    #[cfg(feature = "tls")]
    pub tls: Option<crate::net::tls::TlsServer>,
    /// On whose behalf a client calls, by what is known of it; default `None`: as it says itself.
    pub tenants: Option<Tenants>,
    /// Most handlers of one connection that run at once; further requests of it wait while those of others
    /// go on. Default: an eighth of those that `tasks_max` allows, at least 32, or 2 for each worker.
    pub tasks_per_connection_max: Option<usize>,
    /// Longest time from a handler's start to its answer; after that it is ended and the client gets the
    /// status `handler-timeout`. What the workers have not begun that long after it was handed to them is
    /// refused as `deadline`, and may be repeated. Default: none.
    pub handler_max: Option<Duration>,
    /// Whether a request whose deadline has passed is refused at its turn, whatever the controller says;
    /// default true. Publications whose servers know no deadline are reproduced without.
    pub enforce_deadlines: bool,
    /// Which clients may ask for the server's counts.
    pub introspection: Introspection,
    /// Longest frame, in bytes; default 1 MiB.
    pub frame_max: u32,
    /// Budgets of queueing delay for requests; default none: no request is refused at a lock.
    pub locks: Option<LockRules>,
    /// Servers that handlers may call by [`downstream::tier`](crate::downstream::tier); default none. Each
    /// loop and each worker connects to all of them.
    pub tiers: Vec<TierConfig>,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            listen: Address::Tcp(([127, 0, 0, 1], 0).into()),
            loops: 1,
            cores: Vec::new(),
            model: Model::default(),
            workers_max: None,
            crew_max: None,
            drain_every: Duration::from_micros(50),
            slo: Duration::ZERO,
            connections_max: 1 << 16,
            queue_max: 1 << 18,
            pending_max: 1 << 16,
            pending_bytes_max: 8 << 20,
            tasks_max: 1 << 16,
            output_high: 256 << 10,
            output_total_max: 256 << 20,
            input_total_max: 256 << 20,
            patience: Duration::from_secs(10),
            rate_min: 1 << 10,
            ping_after: Duration::from_secs(30),
            keep_alive: Some(KeepAlive::DEFAULT),
            sockets: SocketRules::default(),
            #[cfg(feature = "tls")]
            tls: None,
            tenants: None,
            tasks_per_connection_max: None,
            handler_max: None,
            enforce_deadlines: true,
            introspection: Introspection::default(),
            frame_max: tailwater_wire::Limits::DEFAULT,
            locks: None,
            tiers: Vec::new(),
        }
    }
}

impl ServerConfig {
    /// Threads for handlers beside the loops, whether or not the model needs them.
    pub(crate) fn workers(&self) -> usize {
        self.workers_max.unwrap_or(0).max(self.model.workers())
    }

    /// Threads for handlers' calls, whether or not the model needs them.
    pub(crate) fn crew(&self) -> usize {
        self.crew_max.unwrap_or(0).max(self.model.completion.crew())
    }

    /// Most handlers of one connection under this model.
    pub(crate) fn tasks_of_one(&self, model: Model) -> usize {
        let threads = model.workers().max(1);
        let eighth = self.tasks_max.saturating_mul(threads) / 8;
        // It may keep each worker busy, and have its next request ready.
        let least = TASKS_OF_ONE.max(2 * threads);
        self.tasks_per_connection_max.unwrap_or(eighth.max(least))
    }
}
