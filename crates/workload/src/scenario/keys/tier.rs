//! `[[tier]]`.

use super::Absent::{Is, Means, Needed, OneOf};
use super::ValueKind::{Number, OneOrMore, Table as One, Tables, Text, Time, Truth, Whole};
use super::{Table, controller, key, server, table, times, validity};
use crate::limits;
use std::time::Duration;

pub(super) static TIER: Table = table(
    "[[tier]]",
    "Nodes that do the same work for what calls them, each with a controller of its own. A tier is called by \
     the server or by tiers before it.",
    &[
        key("name", Text, Needed, "\"leaf\"", "What steps call."),
        key("nodes", Whole(1..=limits::NODES_MAX), Is("1"), "4", "How many nodes it has."),
        key(
            "replicas",
            Whole(1..=limits::REPLICAS_MAX),
            Is("1"),
            "2",
            "Servers of each node, each a process with a controller of its own, among which callers choose; what one \
             refuses is tried at another once. Sockets only.",
        ),
        key(
            "hedge",
            One(&HEDGE),
            Means("nothing is tried twice"),
            "{ quantile = 0.95 }",
            "When a call that is late is sent to a second replica, too. Sockets only.",
        ),
        key(
            "cores",
            Whole(1..=limits::THREADS_MAX),
            Means("as many as the server has"),
            "2",
            "How many cores each node has; their numbers go to pin. Simulator only; on sockets a node has one loop.",
        ),
        key(
            "pin",
            OneOrMore(&Whole(0..=limits::CORE_MAX)),
            Means("not pinned"),
            "1",
            "The numbers of the cores that its nodes take in turn. Sockets only.",
        ),
        key(
            "connections",
            Whole(1..=limits::LIST_MAX as u64),
            Is("1"),
            "2",
            "Connections from each caller to each node, each with the controller's client half.",
        ),
        key(
            "slo",
            Time(limits::SLO),
            Means("the run's objective"),
            "\"200us\"",
            "What its controllers are built for. A tighter one leaves callers room.",
        ),
        key(
            "service",
            times::TIME_OR,
            OneOf(&["service", "path", "application", "command"]),
            "\"5us\"",
            "How long a request takes there; beside command, for the simulator.",
        ),
        key(
            "path",
            Tables(&server::PATH),
            OneOf(&["service", "path", "application", "command"]),
            "{ probability = 1.0, steps = [{ compute = \"5us\" }] }",
            "What requests do there, as of the server.",
        ),
        key(
            "application",
            Truth,
            Is("false"),
            "true",
            "Its nodes serve the server's application, in the tier that this calls so. Sockets only.",
        ),
        key(
            "command",
            Text,
            Means("our server"),
            "\"memcached -t 1 -l 127.0.0.1 -p {port}\"",
            "A program that serves there in memcached's protocol, a process for each node; {port} stands for the port to \
             listen on, and no shell reads it. Sockets only; docs/paths.md says what it is asked.",
        ),
        key(
            "keys",
            Whole(1..=limits::KEYS_MAX),
            Is("1000"),
            "10000",
            "How many keys a command is asked for, each as often as the others.",
        ),
        key(
            "locks",
            One(&server::LOCKS),
            Means("all its defaults"),
            "{ policy = \"plain\" }",
            "As of the server.",
        ),
        key(
            "validity",
            One(&validity::OF_TIER),
            Means("no limits"),
            "{ involuntary_max_per_s = 500 }",
            "Which runs count as far as it is concerned.",
        ),
        key(
            "controller",
            One(&controller::CONTROLLER),
            Means("the run's"),
            "{ name = \"breakwater\" }",
            "Its own controller.",
        ),
    ],
);

static HEDGE: Table = table(
    "tier.hedge",
    "Second tries of calls that are late: whichever replica answers first counts, and the other is told to stop.",
    &[
        key(
            "after",
            Time(Duration::from_nanos(1)..=limits::COST_MAX),
            Means("quantile"),
            "\"1ms\"",
            "How long the first try is waited for. Below the median most calls are tried twice, as far as the budget goes.",
        ),
        key(
            "quantile",
            Number(0.001..=0.999, "share of the calls"),
            Is("0.95"),
            "0.99",
            "It is waited for as long as this share of a caller's calls to the node took, once 128 of them have ended.",
        ),
        key(
            "share",
            Number(0.0..=1.0, "second tries per call"),
            Is("0.05"),
            "0.1",
            "The budget. At 1 a slow replica's load comes twice.",
        ),
        key(
            "burst",
            Whole(0..=limits::RETRY_BURST_MAX),
            Is("10"),
            "5",
            "Second tries that may come at once. At 0 there is none.",
        ),
    ],
);
