//! The top of a file.

use super::Absent::{Is, Means, Needed};
use super::ValueKind::{OneOrMore, Table as One, Tables, Text, Time, Whole};
use super::{Table, clients, controller, demand, fault, key, server, sim, table, tier, validity};
use crate::limits;
use std::time::Duration;

const NOTHING: super::Absent = Means("all its defaults");

/// Everything that a scenario file may say.
pub static TOP: Table = table(
    "",
    "What is compared, for how long and how often.",
    &[
        key(
            "title",
            Text,
            Means("the file's name"),
            "\"From half to twice the capacity\"",
            "A line for people, shown above tables and plots.",
        ),
        key(
            "seed",
            Whole(0..=u64::MAX),
            Is("1"),
            "7",
            "Decides every draw: the same seed offers the same requests.",
        ),
        key(
            "slo",
            OneOrMore(&Time(limits::SLO)),
            Needed,
            "\"400us\"",
            "Objectives on the latency from intended time to answer, each a configuration of its own. The objective is \
             also every request's deadline, from its intended time; calls to tiers have their request's.",
        ),
        key(
            "warm_up",
            Time(Duration::ZERO..=limits::DURATION_MAX),
            Is("\"500ms\""),
            "\"2s\"",
            "How long the first demand is offered before measuring begins. Too short, and controllers are \
             measured while they still adapt.",
        ),
        key(
            "duration",
            Time(limits::DURATION_MIN..=limits::DURATION_MAX),
            Means("2s; with demand.steps the length of all cycles, and then it must be left out"),
            "\"5s\"",
            "How long is measured after the warm-up.",
        ),
        key(
            "repetitions",
            Whole(1..=limits::REPETITIONS_MAX),
            Is("5"),
            "3",
            "How often each run is repeated, interleaved with the others.",
        ),
        key(
            "server",
            One(&server::SERVER),
            Needed,
            "{ service = { distribution = \"exponential\", mean = \"10us\" } }",
            "What serves.",
        ),
        key("clients", One(&clients::CLIENTS), Needed, "{ count = 100 }", "Who asks."),
        key(
            "demand",
            One(&demand::DEMAND),
            Needed,
            "{ of_capacity = [0.5, 1.0, 2.0] }",
            "How much is asked.",
        ),
        key(
            "capacity",
            One(&demand::CAPACITY),
            NOTHING,
            "{ duration = \"500ms\" }",
            "How the capacity is found that demand is a share of: without control, and with plain locks.",
        ),
        key(
            "validity",
            One(&validity::VALIDITY),
            NOTHING,
            "{ steal_max = 0.05 }",
            "Which runs count, where that departs from the usual rules.",
        ),
        key(
            "controller",
            Tables(&controller::CONTROLLER),
            Needed,
            "{ name = \"breakwater\" }",
            "What is compared; one [[controller]] for each.",
        ),
        key(
            "sim",
            One(&sim::SIM),
            NOTHING,
            "{ rtt = \"10us\" }",
            "What the simulator assumes of machine and network. Sockets have their own.",
        ),
        key(
            "tier",
            Tables(&tier::TIER),
            Means("none"),
            "[{ name = \"leaf\", service = \"5us\" }]",
            "Further nodes, which steps of paths call. On sockets all nodes of a tier share a process, but for those that a fault strikes alone.",
        ),
        key(
            "fault",
            Tables(&fault::FAULT),
            Means("none"),
            "{ kind = \"server-pause\", at = \"100ms\", for = \"20ms\" }",
            "What goes wrong, and when. Sockets play what befalls processes.",
        ),
    ],
);
