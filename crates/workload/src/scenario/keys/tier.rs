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
        key("name", Text, Needed, "\"leaf\"", "Its name, which steps call."),
        key(
            "nodes",
            Whole(1..=limits::NODES_MAX),
            Is("1"),
            "4",
            "How many nodes it has. A call asks one of them, or fan_out different ones.",
        ),
        key(
            "replicas",
            Whole(1..=limits::REPLICAS_MAX),
            Is("1"),
            "2",
            "Servers of each node, each with a controller of its own, on sockets each a process. Callers choose the one \
             where they have the fewest calls; what one refuses is tried at another once.",
        ),
        key(
            "hedge",
            One(&HEDGE),
            Means("nothing is tried twice"),
            "{ quantile = 0.95 }",
            "Sends a call that is late to a second replica, too. Only with replicas of 2 or more.",
        ),
        key(
            "cores",
            Whole(1..=limits::POOL_MAX),
            Means("as many as the server has"),
            "2",
            "How many cores each node has. Simulator only: on sockets a node has one loop, and pin has the numbers of \
             cores.",
        ),
        key(
            "pin",
            OneOrMore(&Whole(0..=limits::CORE_MAX)),
            Means("not pinned"),
            "1",
            "Pins its nodes to cores by these numbers, which they take in turn. Sockets only.",
        ),
        key(
            "connections",
            Whole(1..=limits::LIST_MAX as u64),
            Is("1"),
            "2",
            "Connections from each caller to each node. Each has a client half of the controller, so that more of them \
             see more clients.",
        ),
        key(
            "slo",
            Time(limits::SLO),
            Means("the run's objective"),
            "\"200us\"",
            "The objective that its controllers are built for. One that is tighter than the run's leaves callers room \
             to answer in time.",
        ),
        key(
            "service",
            times::TIME_OR,
            OneOf(&["service", "path", "application", "command"]),
            "\"5us\"",
            "How long a request takes there. Beside command it is what the simulator plays in the program's place.",
        ),
        key(
            "path",
            Tables(&server::PATH),
            OneOf(&["service", "path", "application", "command"]),
            "{ probability = 1.0, steps = [{ compute = \"5us\" }] }",
            "What requests do there, step by step, as in [[server.path]].",
        ),
        key(
            "application",
            Truth,
            Is("false"),
            "true",
            "Whether its nodes serve the tier of this name of the server's application. Beside command they are its program, \
             and the application says what they are asked. Sockets only.",
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
            "How many keys a command's nodes are asked for, each as often as the others. Only beside command, and not beside \
             application.",
        ),
        key(
            "locks",
            One(&server::LOCKS),
            Means("all its defaults"),
            "{ policy = \"plain\" }",
            "What requests do at its taken locks, as in [server.locks].",
        ),
        key(
            "validity",
            One(&validity::OF_TIER),
            Means("no limits"),
            "{ involuntary_max_per_s = 500 }",
            "Limits beyond which a run does not count for the sake of this tier.",
        ),
        key(
            "controller",
            One(&controller::CONTROLLER),
            Means("the run's"),
            "{ name = \"breakwater\" }",
            "A controller of its own, in place of the one that is compared.",
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
            "How long the first try is waited for, as a fixed time. Below the median most calls are tried twice, as far \
             as share allows.",
        ),
        key(
            "quantile",
            Number(0.001..=0.999, "share of the calls"),
            Is("0.95"),
            "0.99",
            "The first try is waited for as long as this share of a caller's calls to the node took, once 128 of them \
             have ended. Larger makes fewer second tries.",
        ),
        key(
            "share",
            Number(0.0..=1.0, "second tries per call"),
            Is("0.05"),
            "0.1",
            "Second tries for each call, at most. At 1 a slow replica's load comes twice.",
        ),
        key(
            "burst",
            Whole(0..=limits::RETRY_BURST_MAX),
            Is("10"),
            "5",
            "How many second tries may come at once before share counts. At 0 there is none.",
        ),
    ],
);
