//! What is simulated: a node, a network, clients, and how long.

use crate::paths::Paths;
use crate::threads::{Switch, Threads};
use std::sync::Arc;
use std::time::Duration;
use tailwater_control::retry::HedgeConfig;
use tailwater_control::{Replicas, RetryConfig, Site};
use tailwater_core::{Class, Instant, MethodId};
use tailwater_workload::scenario::{Fault, Stalls};
use tailwater_workload::{Entry, Service};

/// Everything about a run but its load and its controller.
#[derive(Clone, Debug)]
pub struct World {
    /// The server that clients ask, the front.
    pub node: NodeSpec,
    /// How many of them there are, each with a controller of its own; every client is connected to all.
    /// At least one, 32 at most.
    pub replicas: u32,
    /// What clients do about replicas; means nothing where there is one.
    pub retry: RetryConfig,
    /// Further nodes, which the paths of the first, and of each other, call.
    pub tiers: Vec<TierSpec>,
    /// The network between it and every client, and between nodes.
    pub link: Link,
    /// How many clients, each with a connection and control state of its own.
    pub clients: u32,
    /// A call's deadline: this long after its intended time. Also what goodput counts against.
    pub slo: Duration,
    /// Requests intended in the first part of the run are not counted; the paper: 2 s.
    pub warm_up: Duration,
    /// How long is measured after that; the paper: 2 s.
    pub measure: Duration,
    /// How long to wait for answers after the measured window, at the most. Then what is still out is lost.
    pub drain: Duration,
    /// Width of the bins of a time series; `None` for none.
    pub bin: Option<Duration>,
    /// How often pool, issued credits and queues are sampled for the trace; `None` for never. At
    /// most [`World::SAMPLES_MAX`] samples are kept.
    pub sample: Option<Duration>,
    /// What goes wrong, each from the run's beginning; 65,535 at most are played. The links
    /// between nodes are spared. See [`crate::simulate_with`] for a server that restarts.
    pub faults: Vec<Fault>,
    /// Changes of threading models, 65,535 at most.
    pub switches: Vec<Switch>,
    /// The bound of [`crate::Rule::Starvation`]; `None` where the controller promises nothing. Too
    /// short, and a pool that grows a credit at a time is blamed; too long, and nothing is noticed.
    pub starved_max: Option<Duration>,
    /// The bound of [`crate::Rule::Queues`] on calls that wait at one client, which the controller's
    /// settings decide.
    pub client_queue_max: u32,
    /// Decides everything that is left to chance in network and controller.
    pub seed: u64,
    /// The command that repeats this run, for the message of a failed check.
    pub repeat: String,
}

impl World {
    /// Bounds the memory of a trace to some tens of megabytes.
    pub const SAMPLES_MAX: usize = 1_000_000;

    /// The testbed of Breakwater §5.1: ten hyper-threads, 10 µs RTT, 1,000 clients, an SLO of 200 µs,
    /// four seconds of which the second half is measured. The costs per message are ours, chosen so
    /// that 10 µs of service give about the 850,000 requests/s that the paper names as capacity.
    #[must_use]
    pub fn paper(seed: u64) -> Self {
        Self {
            node: NodeSpec::paper(),
            replicas: 1,
            retry: RetryConfig::default(),
            tiers: Vec::new(),
            link: Link { delay: Duration::from_micros(5), jitter: Duration::ZERO },
            clients: 1_000,
            slo: Duration::from_micros(200),
            warm_up: Duration::from_secs(2),
            measure: Duration::from_secs(2),
            drain: Duration::from_millis(20),
            bin: None,
            sample: None,
            faults: Vec::new(),
            switches: Vec::new(),
            starved_max: Some(Duration::from_secs(1)),
            client_queue_max: u32::MAX,
            seed,
            repeat: String::new(),
        }
    }

    /// First and last instant of the measured window.
    #[must_use]
    pub fn window(&self) -> (Instant, Instant) {
        let from = Instant::ZERO + self.warm_up;
        (from, from + self.measure)
    }
}

/// A server: loops with a queue of packets and one of requests each, and the cores that work for them.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeSpec {
    /// Cores of all loops together; rounded up to equally many for each, at least one.
    pub cores: u32,
    /// Loops, each with queues and cores of its own; connections are dealt to them in turn. One: all
    /// cores share the queues, which is the central queue of the papers' testbeds.
    pub loops: u32,
    /// Cores with nothing to do take work of other loops. Means nothing where there is one.
    pub stealing: bool,
    /// Shards of the controller for each loop, among which its connections are divided; at least one.
    /// The queues are common to them, and so is the delay that they see.
    pub shards: u32,
    /// What messages cost.
    pub costs: Costs,
    /// What turning to a connection that has sent something costs a core, beside receiving: once in each turn
    /// of its loop, however many messages there are.
    pub connection_cost: Duration,
    /// Messages of one connection that are received in one turn of its loop cost what one does. So do those that are
    /// sent over it. What a path sends to further nodes always costs a packet each.
    pub coalescing: bool,
    /// How often the controller hears of the delay while the node works. Between events nothing is
    /// noticed, as in a loop that runs one thing at a time.
    pub tick: Duration,
    /// How long requests may run before waiting packets are parsed. Zero: at once, as Breakwater's
    /// dispatcher does (§3.1), since a request that is not parsed is neither seen by the delay signal
    /// nor shed early. A loop that polls its sockets now and then has about 50 µs.
    pub parse_every: Duration,
    /// Most admitted requests that wait; beyond that they are shed with `queue-full`.
    pub queue_max: u32,
    /// Requests past their deadline are refused when they would start, whatever the controller says.
    pub enforce_deadlines: bool,
    /// Its threads, which share the cores, and then mean more than `stealing` does. `None`: any core of a loop does what
    /// the loop has to do, and nothing sleeps. They need `paths`, without which they mean nothing.
    pub threads: Option<Threads>,
    /// What requests do; `None`: they compute for the time that they bring along.
    pub paths: Option<Arc<Paths>>,
    /// When the machine takes a core away, each core for itself; the seed decides when.
    pub stalls: Stalls,
    /// Each mode of these times is a method of its own; `None`: there is one method.
    pub modes: Option<Service>,
}

/// Nodes that do the same, for the nodes that call them.
#[derive(Clone, Debug, PartialEq)]
pub struct TierSpec {
    /// How reports call it.
    pub name: String,
    /// Each of them. Without paths its requests would take no time.
    pub node: NodeSpec,
    /// How many; at least one.
    pub nodes: u32,
    /// Connections from each caller to each server; at least one.
    pub connections: u32,
    /// Servers of each node, among which callers choose; at least one, 32 at most.
    pub replicas: u32,
    /// What callers do about replicas; means nothing where there is one.
    pub retry: RetryConfig,
    /// Second tries of calls that are late; `None` for none.
    pub hedge: Option<HedgeConfig>,
}

impl TierSpec {
    /// Of all nodes together.
    #[must_use]
    pub fn servers(&self) -> u32 {
        self.nodes.max(1) * self.replicas.max(1)
    }

    /// What a caller of this number decides by.
    pub(crate) fn choice(&self, number: u64) -> Replicas {
        let choice = Replicas::new(self.retry, self.replicas.max(1) as usize, number);
        self.hedge.into_iter().fold(choice, Replicas::hedged)
    }
}

impl NodeSpec {
    /// Cores, equally many for each loop.
    #[must_use]
    pub fn cores_in_all(&self) -> u32 {
        let loops = self.loops.max(1);
        self.cores.max(1).div_ceil(loops) * loops
    }

    /// Shards of all loops: what a controller is to be built for.
    #[must_use]
    pub fn shards_in_all(&self) -> u32 {
        self.loops.max(1) * self.shards.max(1)
    }

    /// The class of a request that takes so long.
    #[must_use]
    pub fn class_of(&self, service: Duration) -> Class {
        let mode = self.modes.as_ref().map_or(0, |modes| modes.mode_of(service));
        Class::of(MethodId(mode))
    }

    /// The node as its controller knows it, for an objective of `slo`.
    #[must_use]
    pub fn site(&self, slo: Duration, seed: u64) -> Site {
        let (loops, cores) = (self.shards_in_all() as usize, self.cores_in_all() as usize);
        Site { slo, loops, cores, seed }
    }

    /// See [`World::paper`].
    #[must_use]
    pub fn paper() -> Self {
        Self {
            cores: 10,
            loops: 1,
            stealing: false,
            shards: 1,
            costs: Costs {
                receive: Duration::from_nanos(900),
                send: Duration::from_nanos(865),
                shed: Duration::from_nanos(100),
            },
            connection_cost: Duration::ZERO,
            coalescing: false,
            tick: Duration::from_micros(5),
            parse_every: Duration::ZERO,
            queue_max: 1 << 20,
            enforce_deadlines: false,
            threads: None,
            paths: None,
            stalls: Stalls::default(),
            modes: None,
        }
    }
}

/// What a core spends on a message, beside the handler's own time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// Receiving and parsing any message.
    pub receive: Duration,
    /// Sending a response, a reject, a credit or a WELCOME.
    pub send: Duration,
    /// Deciding on a reject and building it, beside sending it.
    pub shed: Duration,
}

impl Costs {
    /// What a served request costs beside its service.
    #[must_use]
    pub fn per_request(&self) -> Duration {
        self.receive + self.send
    }
}

/// The way between a client and the node, either direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Half a round trip.
    pub delay: Duration,
    /// Mean of what comes on top, exponentially distributed; zero for none.
    pub jitter: Duration,
}

/// One request that a client is to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Intended {
    /// When; from the run's beginning.
    pub at: Instant,
    /// Which client, below [`World::clients`].
    pub client: u32,
    /// How long its handler will run.
    pub service: Duration,
}

impl From<Entry> for Intended {
    fn from(entry: Entry) -> Self {
        Self {
            at: Instant::from_nanos(entry.at),
            client: entry.client,
            service: Duration::from_nanos(u64::from(entry.service_ns)),
        }
    }
}
