//! `[[tier]]`.

use super::Absent::{Is, Means, Needed, OneOf};
use super::ValueKind::{OneOrMore, Table as One, Tables, Text, Time, Truth, Whole};
use super::{Table, controller, key, server, table, times, validity};
use crate::limits;

pub(super) static TIER: Table = table(
    "[[tier]]",
    "Nodes that do the same work for what calls them, each with a controller of its own. A tier is called by \
     the server or by tiers before it.",
    &[
        key("name", Text, Needed, "\"leaf\"", "What steps call."),
        key("nodes", Whole(1..=limits::NODES_MAX), Is("1"), "4", "How many nodes it has."),
        key(
            "cores",
            Whole(1..=limits::THREADS_MAX),
            Means("as many as the server has"),
            "2",
            "Cores of each. Simulator only; on sockets a node has one loop.",
        ),
        key(
            "pin",
            OneOrMore(&Whole(0..=limits::CORE_MAX)),
            Means("not pinned"),
            "1",
            "The cores that its nodes take in turn. Sockets only.",
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
            OneOf(&["service", "path", "application"]),
            "\"5us\"",
            "How long a request takes there.",
        ),
        key(
            "path",
            Tables(&server::PATH),
            OneOf(&["service", "path", "application"]),
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
