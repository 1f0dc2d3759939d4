//! `[server]` and what requests do there.

use super::Absent::{Is, Means, Needed, OneOf};
use super::ValueKind::{
    Number, OneOrMore, Pair, Settings, Table as One, Tables, Text, Time, TimeOr, Truth, Whole, Word,
};
use super::{Table, Variant, key, names, table, times, words};
use crate::limits;
use crate::scenario::choices::TRANSPORTS;
use crate::service::Work;
use std::ops::RangeInclusive;
use std::time::Duration;
use tailwater_core::locks::LockPolicy;
use tailwater_core::threads::{Model, Placement, Reception};

const COSTS: RangeInclusive<Duration> = Duration::ZERO..=limits::COST_MAX;

pub(super) static SERVER: Table = Table {
    head: "[server]",
    meaning: "The server's threads, how they wait and place work, and what a request costs.",
    keys: &[
        key(
            "loops",
            Whole(1..=limits::THREADS_MAX),
            Is("1"),
            "2",
            "Event loops, each a thread with connections of its own. More than one where one core cannot do it, and \
             each has a core.",
        ),
        key(
            "cores",
            OneOrMore(&Whole(0..=limits::CORE_MAX)),
            Means("not pinned"),
            "0",
            "Pins threads to cores by their numbers: one for each loop, which leaves workers to the kernel, or one for \
             each loop and then one for each worker. With replicas the list goes on with those of the next. None may be \
             among clients.cores. Sockets only.",
        ),
        key(
            "reception",
            Word(words::<Reception>),
            Is("\"block\""),
            "\"poll\"",
            "How a loop waits for requests. block: asleep in the kernel. poll: spinning, which answers sooner and takes \
             a core for itself. spin:50us: spinning for 50 µs, and then asleep.",
        ),
        key(
            "placement",
            Word(words::<Placement>),
            Is("\"inline\""),
            "\"workers:4\"",
            "Where handlers run. inline: on the loop that received the request. workers:4: on 4 other threads, up to \
             64, for handlers that compute for 100 µs or more, or block.",
        ),
        key(
            "model",
            Word(words::<Model>),
            Means("reception and placement"),
            "\"adb:4\"",
            "Reception, placement and what waits for tiers, in one word that replaces these two keys. s or a: a handler \
             that calls a tier keeps its thread (synchronous) or gives it back (asynchronous). i or d:4: in-line, or \
             dispatched to 4 workers. b or p: block or poll. @spin:20us behind it: spin, then block. +2: so many \
             threads make the calls, up to 64. docs/threading.md says which suits.",
        ),
        key(
            "change",
            Tables(&CHANGE),
            Means("none"),
            "{ at = \"500ms\", model = \"adb:4\" }",
            "Changes of the threading model while it serves.",
        ),
        key(
            "transport",
            Word(|| names(TRANSPORTS)),
            Is("\"tcp\""),
            "\"unix\"",
            "What carries requests on loopback: TCP, or a Unix socket. Sockets only.",
        ),
        key(
            "socket",
            One(&SOCKET),
            Means("the machine's own"),
            "{ quick_ack = true }",
            "Options of the server's TCP sockets. Sockets only.",
        ),
        key(
            "process",
            Settings,
            Means("what tailwater itself has"),
            "{ nice = -5, scheduling = \"batch\" }",
            "Knobs of the server's process by their names in tailwater tune knobs, each of the class process; those of the \
             tiers and the generator are not touched. Sockets only.",
        ),
        key(
            "lock_memory",
            Truth,
            Is("false"),
            "true",
            "The server's memory is there before its first use and is never taken from it (mlockall), for which it needs \
             root or the limit of ulimit -l. Its stacks and heaps then take all that they may. Sockets only.",
        ),
        key(
            "drain_every",
            Time(Duration::from_micros(1)..=limits::COST_MAX),
            Means("50 µs"),
            "\"20us\"",
            "The longest time that a loop runs handlers before it looks at its sockets again. Shorter costs system calls, \
             longer hides waiting requests in sockets. Sockets only.",
        ),
        key(
            "output_high",
            Whole(1..=limits::OUTPUT_HIGH_MAX),
            Means("256 KiB"),
            "65536",
            "Bytes of answers that a connection has not read, from which on its requests wait. Sockets only.",
        ),
        key(
            "tasks_max",
            Whole(1..=limits::TASKS_MAX),
            Means("65,536"),
            "64",
            "Handlers of a thread that wait for something at once; beyond it requests stay queued. Sockets only.",
        ),
        key(
            "service",
            TimeOr(times::MEANS, &SERVICE),
            Needed,
            "{ distribution = \"exponential\", mean = \"10us\" }",
            "How long a handler works on a request. A duration alone is a constant.",
        ),
        key(
            "classes",
            Truth,
            Is("false"),
            "true",
            "Each mode of the service's distribution is called by a method of its own, so that controllers can tell \
             cheap from dear requests: the two of bimodal.",
        ),
        key(
            "path",
            Tables(&PATH),
            Needed,
            "{ probability = 1.0, steps = [{ compute = \"5us\" }] }",
            "What requests do, step by step, in place of a service.",
        ),
        key(
            "application",
            Text,
            Needed,
            "\"key-value\"",
            "A program that serves in place of a service: key-value, search, setalgebra, hdsearch, recommend or router. Sockets only.",
        ),
        key(
            "settings",
            Settings,
            Means("the application's defaults"),
            "{ keys = 10000 }",
            "Settings of the application: docs/key-value.md, docs/search.md, docs/set-algebra.md, docs/hdsearch.md, docs/recommend.md and docs/router.md list them.",
        ),
        key(
            "locks",
            One(&LOCKS),
            Means("all its defaults"),
            "{ policy = \"plain\" }",
            "What requests do at locks that are taken. Only with paths or an application.",
        ),
        key(
            "enforce_deadlines",
            Truth,
            Means("true, unless the controller's profile or preset is a publication's"),
            "false",
            "Whether a request that is past its deadline when it would start is refused, whatever the controller says. \
             false serves it all the same.",
        ),
        key(
            "replicas",
            Whole(1..=limits::REPLICAS_MAX),
            Means("1"),
            "2",
            "Servers of this kind, each with a controller of its own, on sockets each a process. Every client is \
             connected to all, and capacity is that of all. [clients.retry] says where requests go.",
        ),
    ],
    variants: WORK,
};

/// What requests ask for is said in one of these ways.
pub(in crate::scenario) const WORK: &[Variant] = &[
    Variant {
        name: "service",
        keys: &["classes"],
        meaning: "Requests that compute or sleep for a time.",
    },
    Variant {
        name: "path",
        keys: &["locks"],
        meaning: "Requests of several steps, with locks and further tiers.",
    },
    Variant {
        name: "application",
        keys: &["settings", "locks"],
        meaning: "Requests to a real program.",
    },
];

static CHANGE: Table = table(
    "[[server.change]]",
    "The server serves by another threading model from then on; what has begun ends as it began (docs/threading.md).",
    &[
        key(
            "at",
            Time(Duration::ZERO..=limits::DURATION_MAX),
            Needed,
            "\"500ms\"",
            "When, counted from the beginning of the measured window, and within it.",
        ),
        key(
            "model",
            Word(words::<Model>),
            Needed,
            "\"adb:4\"",
            "The threading model by which new requests are served from then on.",
        ),
    ],
);

static SOCKET: Table = table(
    "[server.socket]",
    "Options of the server's TCP sockets; a Unix socket has none of them.",
    &[
        key(
            "quick_ack",
            Truth,
            Is("false"),
            "true",
            "What a client sends is acknowledged at once, and not with the next answer: a system call for each read.",
        ),
        key(
            "send_buffer",
            Whole(1..=limits::SOCKET_BYTES_MAX),
            Means("the kernel adapts it"),
            "65536",
            "Bytes that a socket holds of what it sends, as a constant. The kernel gives no more than \
             /proc/sys/net/core/wmem_max; a server that wants more does not start.",
        ),
        key(
            "receive_buffer",
            Whole(1..=limits::SOCKET_BYTES_MAX),
            Means("the kernel adapts it"),
            "65536",
            "The same of what it receives, with rmem_max.",
        ),
        key(
            "congestion_control",
            Text,
            Means("the machine's"),
            "\"cubic\"",
            "The law by which a socket sends, by its name in /proc/sys/net/ipv4/tcp_available_congestion_control.",
        ),
    ],
);

static SERVICE: Table = Table {
    head: "server.service",
    meaning: "How long a handler works.",
    keys: &[
        times::DISTRIBUTION,
        times::MEAN,
        times::SIGMA,
        times::P99_OF_P50,
        times::SHAPE,
        times::MAX,
        times::FILE,
        key(
            "work",
            Word(|| names(Work::NAMES)),
            Is("\"spin\""),
            "\"sleep\"",
            "How the time is spent. spin: computing, which holds a core. sleep: waiting, which holds none and no \
             thread; the simulator computes all the same.",
        ),
    ],
    variants: times::VARIANTS,
};

pub(super) static LOCKS: Table = table(
    "[server.locks]",
    "One rule for all locks of a server or tier.",
    &[
        key(
            "policy",
            Word(words::<LockPolicy>),
            Is("\"asqm\""),
            "\"timed:50us\"",
            "What a request does that finds a lock taken. plain: it waits. off: it waits, and requests have no budgets. \
             try: it is refused. timed:50us: it gives up after 50 µs. asqm: it is refused if its budget cannot pay the \
             wait, and gives up when the budget ends. asqm:paper: it is refused on entry alone. asqm:artifact: it is \
             also refused a free lock if its budget is spent, in simulation alone. docs/paths.md compares them.",
        ),
        key(
            "target",
            Time(limits::SLO),
            Means("the objective"),
            "\"200us\"",
            "The time within which the server shall answer or refuse. A request's budget is what the 99th percentiles \
             of service and network leave of it, a quarter at least. Smaller refuses sooner; above the objective, \
             requests wait in vain.",
        ),
        key(
            "budget",
            Time(COSTS),
            Means("measured from target"),
            "\"100us\"",
            "The budget of every request as a constant: how long it may wait in queues and at locks, all waits \
             together. For experiments; not beside target.",
        ),
        key(
            "hand_off",
            Time(COSTS),
            Is("\"200ns\""),
            "\"16us\"",
            "What waking the next holder of a lock costs, with the lock held already. Simulator only.",
        ),
    ],
);

pub(super) static PATH: Table = table(
    "[[server.path]]",
    "One way through the server or tier; the probabilities of all add up to 1.",
    &[
        key("name", Text, Means("its number, from 1"), "\"get\"", "Its name in results."),
        key(
            "probability",
            Number(0.0..=1.0, "share of requests"),
            Means("1 where there is one path; several need theirs"),
            "0.2",
            "The share of requests that takes this path. All paths together have 1.",
        ),
        key(
            "steps",
            Tables(&STEP),
            Needed,
            "[{ compute = \"5us\" }, { lock = \"A\", hold = \"2us\" }]",
            "What such a request does, one step after the other.",
        ),
    ],
);

/// The kinds of steps, each by the key that says it.
pub(in crate::scenario) const STEPS: &[Variant] = &[
    Variant { name: "compute", keys: &[], meaning: "It computes for a time, holding a core." },
    Variant {
        name: "wait",
        keys: &[],
        meaning: "It waits for a time, holding no core: for a disk or another machine.",
    },
    Variant {
        name: "lock",
        keys: &["hold", "steps", "among", "hot", "must", "undo"],
        meaning: "It takes a lock for the length of hold or of further steps; waiting for it holds no core.",
    },
    Variant {
        name: "call",
        keys: &["fan_out"],
        meaning: "It asks a tier and waits for the answers, holding no core.",
    },
];

static STEP: Table = Table {
    head: "server.path.steps",
    meaning: "One step of a path; exactly one of compute, wait, lock and call.",
    keys: &[
        key("compute", times::TIME_OR, Needed, "\"5us\"", "How long it computes, holding a core."),
        key("wait", times::TIME_OR, Needed, "\"100us\"", "How long it waits, holding no core."),
        key(
            "lock",
            Text,
            Needed,
            "\"A\"",
            "The name of a lock, or of a set of locks. The same name in two paths is the same lock; each server, tier \
             and node has its own. One loop without workers, the default, finds it taken only where it is held across a \
             wait or a call. For others set server.loops = 2 or server.placement = \"workers:4\"; in simulation, where \
             workers are none, sim.cores = 2.",
        ),
        key(
            "hold",
            times::TIME_OR,
            OneOf(&["hold", "steps"]),
            "\"2us\"",
            "How long it computes with the lock held, as its only step there.",
        ),
        key(
            "steps",
            Tables(&STEP),
            OneOf(&["hold", "steps"]),
            "[{ compute = \"1us\" }]",
            "What is done with the lock held, up to 8 locks deep. No lock or set may be taken within itself, and all paths must \
             nest their locks in the same order: else requests could wait for each other for ever.",
        ),
        key(
            "among",
            Whole(1..=limits::LOCKS_MAX),
            Is("1"),
            "16",
            "How many locks the set has; each step draws one anew. More locks, fewer waits. The number must be the same \
             wherever the name stands; hot may differ.",
        ),
        key(
            "hot",
            Pair(&Number(0.0..=1.0, "shares")),
            Means("all are drawn alike"),
            "[0.1, 0.9]",
            "Which locks of the set are drawn: [0.1, 0.9] gives nine tenths of the requests a tenth of the locks.",
        ),
        key(
            "must",
            Truth,
            Is("false"),
            "true",
            "true: such work may not be refused, as what frees memory; the lock is waited for like a plain one, \
             whatever the policy.",
        ),
        key(
            "undo",
            times::TIME_OR,
            Means("nothing"),
            "\"1us\"",
            "For how long the lock is taken once more, and may not be refused, when the request is refused at a later \
             step: what was done under it must be undone.",
        ),
        key(
            "call",
            Text,
            Needed,
            "\"leaf\"",
            "The name of the [[tier]] that is asked, which must stand further down.",
        ),
        key(
            "fan_out",
            Whole(1..=limits::NODES_MAX),
            Is("1"),
            "2",
            "How many different nodes of the tier are asked at once; each gets one request, and all answers are waited \
             for.",
        ),
    ],
    variants: STEPS,
};
