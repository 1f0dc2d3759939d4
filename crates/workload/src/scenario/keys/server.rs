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
        key("loops", Whole(1..=limits::THREADS_MAX), Is("1"), "2", "Event loops, each a thread."),
        key(
            "cores",
            OneOrMore(&Whole(0..=limits::CORE_MAX)),
            Means("not pinned"),
            "0",
            "The numbers of the loops' cores, one for each, which leaves workers to the kernel; or of loops and workers, one for \
             each. Those of replicas follow one another. None may be among clients.cores.",
        ),
        key(
            "reception",
            Word(words::<Reception>),
            Is("\"block\""),
            "\"poll\"",
            "How a loop waits for requests: asleep, always spinning, or spinning for a while and then asleep.",
        ),
        key(
            "placement",
            Word(words::<Placement>),
            Is("\"inline\""),
            "\"workers:4\"",
            "Where handlers run: on the loop that received the request, or on up to 32 workers.",
        ),
        key(
            "model",
            Word(words::<Model>),
            Means("reception and placement"),
            "\"adb:4\"",
            "Both in one word, and who waits for tiers: synchronous or asynchronous, in-line or dispatched to so \
             many workers, block or poll; +2 behind it for threads that make the calls, up to 32 (docs/threading.md).",
        ),
        key(
            "change",
            Tables(&CHANGE),
            Means("none"),
            "{ at = \"500ms\", model = \"adb:4\" }",
            "Another threading model while it serves.",
        ),
        key(
            "transport",
            Word(|| names(TRANSPORTS)),
            Is("\"tcp\""),
            "\"unix\"",
            "What carries requests on loopback.",
        ),
        key(
            "service",
            TimeOr(times::MEANS, &SERVICE),
            Needed,
            "{ distribution = \"exponential\", mean = \"10us\" }",
            "How long a handler works. A duration alone is a constant.",
        ),
        key(
            "classes",
            Truth,
            Is("false"),
            "true",
            "Each mode of the service's distribution is called by a method of its own, so that controllers can \
             tell them apart.",
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
            "What requests do at taken locks. Only with paths or an application.",
        ),
        key(
            "enforce_deadlines",
            Truth,
            Means("true, unless the controller's profile or preset is a publication's"),
            "false",
            "What is past its deadline is refused when it would start, whatever the controller says.",
        ),
        key(
            "replicas",
            Whole(1..=limits::REPLICAS_MAX),
            Means("1"),
            "2",
            "Servers of this kind, each with a controller of its own, on sockets each a process; every client is connected \
             to all, and capacity is that of all.",
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
            "When, from the beginning of the measured window, and within that.",
        ),
        key("model", Word(words::<Model>), Needed, "\"adb:4\"", "By what new requests are served."),
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
            "How the time is spent: computing, or waiting without a thread.",
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
            "What a request does that finds a lock taken: off and plain wait, off without any budgets; try is refused; timed:50us \
             gives up after that long. asqm is refused if its budget cannot pay the wait, and gives up when it ends. asqm:paper is \
             refused on entry alone. asqm:artifact is also refused a free lock if its budget is spent, in simulation alone \
             (docs/paths.md).",
        ),
        key(
            "target",
            Time(limits::SLO),
            Means("the objective"),
            "\"200us\"",
            "Within this a server shall answer or refuse; budgets are what service and network leave of it.",
        ),
        key(
            "budget",
            Time(COSTS),
            Means("measured from target"),
            "\"100us\"",
            "The queueing-delay budget of every request, as a constant; not beside target.",
        ),
        key(
            "hand_off",
            Time(COSTS),
            Is("\"200ns\""),
            "\"16us\"",
            "What waking its next holder costs, with the lock held already. Simulator only.",
        ),
    ],
);

pub(super) static PATH: Table = table(
    "[[server.path]]",
    "One way through the server or tier; the probabilities of all add up to 1.",
    &[
        key("name", Text, Means("its number, from 1"), "\"get\"", "For people."),
        key(
            "probability",
            Number(0.0..=1.0, "share of requests"),
            Means("1 where there is one path; several need theirs"),
            "0.2",
            "The share of requests that takes it.",
        ),
        key(
            "steps",
            Tables(&STEP),
            Needed,
            "[{ compute = \"5us\" }, { lock = \"A\", hold = \"2us\" }]",
            "A list of what such a request does, in this order.",
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
        key("compute", times::TIME_OR, Needed, "\"5us\"", "How long it computes."),
        key("wait", times::TIME_OR, Needed, "\"100us\"", "How long it waits."),
        key(
            "lock",
            Text,
            Needed,
            "\"A\"",
            "Which lock, or which set of locks. The same name in two paths is the same lock; each server, tier and node has its \
             own. One loop without workers, the default, finds it taken only where it is held across a wait or a call. For others set \
             server.loops = 2 or server.placement = \"workers:4\"; in simulation, where workers are none, sim.cores = 2.",
        ),
        key(
            "hold",
            times::TIME_OR,
            OneOf(&["hold", "steps"]),
            "\"2us\"",
            "How long it computes with the lock held.",
        ),
        key(
            "steps",
            Tables(&STEP),
            OneOf(&["hold", "steps"]),
            "[{ compute = \"1us\" }]",
            "What is done with the lock held, up to 8 locks deep.",
        ),
        key(
            "among",
            Whole(1..=limits::LOCKS_MAX),
            Is("1"),
            "16",
            "How many locks the set has; each request draws one.",
        ),
        key(
            "hot",
            Pair(&Number(0.0..=1.0, "shares")),
            Means("all are drawn alike"),
            "[0.1, 0.9]",
            "The first share of the locks is drawn by the second share of the requests.",
        ),
        key(
            "must",
            Truth,
            Is("false"),
            "true",
            "The lock is waited for like a plain one: such work may not be refused.",
        ),
        key(
            "undo",
            times::TIME_OR,
            Means("nothing"),
            "\"1us\"",
            "What must be done again under the lock when the request is refused later.",
        ),
        key("call", Text, Needed, "\"leaf\"", "The name of a [[tier]] further down."),
        key(
            "fan_out",
            Whole(1..=limits::NODES_MAX),
            Is("1"),
            "2",
            "How many nodes of the tier are asked at once, each one request.",
        ),
    ],
    variants: STEPS,
};
