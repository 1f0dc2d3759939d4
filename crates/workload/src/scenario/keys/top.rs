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
    "What is compared, for how long and how often. Needed are slo, server, clients, demand and one [[controller]].",
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
            "Decides every draw: the same seed offers the same requests. Change it to see whether a result hangs on its \
             draws.",
        ),
        key(
            "slo",
            OneOrMore(&Time(limits::SLO)),
            Needed,
            "\"400us\"",
            "The objective: the latency, from intended time to answer, up to which an answer counts. Each value is a \
             configuration of its own. It is also the deadline of every request and of its calls to tiers. Breakwater's \
             authors take ten times the sum of service time and round trip.",
        ),
        key(
            "warm_up",
            Time(Duration::ZERO..=limits::DURATION_MAX),
            Is("\"500ms\""),
            "\"2s\"",
            "How long the first demand is offered before measuring begins. Too short, and controllers are measured \
             while they still adapt: double it, and if the result moves, it was too short.",
        ),
        key(
            "duration",
            Time(limits::DURATION_MIN..=limits::DURATION_MAX),
            Means("2s; with demand.steps the length of all cycles, and then it must be left out"),
            "\"5s\"",
            "How long is measured after the warm-up. The 99th percentile rests on a hundredth of the requests in it, so \
             low demand needs longer.",
        ),
        key(
            "repetitions",
            Whole(1..=limits::REPETITIONS_MAX),
            Is("5"),
            "3",
            "How often each run is repeated, in turns with the others. Tables have the median of those that are valid; \
             1 only shows that the file works.",
        ),
        key(
            "server",
            One(&server::SERVER),
            Needed,
            "{ service = { distribution = \"exponential\", mean = \"10us\" } }",
            "What serves: its threads, and what a request does there.",
        ),
        key(
            "clients",
            One(&clients::CLIENTS),
            Needed,
            "{ count = 100 }",
            "Which clients ask, and the generator that plays them.",
        ),
        key(
            "demand",
            One(&demand::DEMAND),
            Needed,
            "{ of_capacity = [0.5, 1.0, 2.0] }",
            "How many requests are asked for, and how they are spread in time.",
        ),
        key(
            "capacity",
            One(&demand::CAPACITY),
            NOTHING,
            "{ duration = \"500ms\" }",
            "How the capacity is found that demand.of_capacity multiplies: without control, and with plain locks.",
        ),
        key(
            "validity",
            One(&validity::VALIDITY),
            NOTHING,
            "{ steal_max = 0.05 }",
            "Limits beyond which a run does not count. Left out, the usual ones hold.",
        ),
        key(
            "controller",
            Tables(&controller::CONTROLLER),
            Needed,
            "{ name = \"breakwater\" }",
            "What is compared; one [[controller]] for each. A file with name = \"none\" beside others shows what \
             control brings.",
        ),
        key(
            "sim",
            One(&sim::SIM),
            NOTHING,
            "{ rtt = \"10us\" }",
            "What the simulator assumes of machine and network. On sockets it means nothing.",
        ),
        key(
            "tier",
            Tables(&tier::TIER),
            Means("none"),
            "[{ name = \"leaf\", service = \"5us\" }]",
            "Further nodes, which steps of paths call. On sockets all nodes of a tier share a process, but for those \
             that a fault strikes alone.",
        ),
        key(
            "fault",
            Tables(&fault::FAULT),
            Means("none"),
            "{ kind = \"server-pause\", at = \"100ms\", for = \"20ms\" }",
            "What goes wrong, and when. The simulator plays all kinds, sockets server-restart, server-pause and \
             server-slow.",
        ),
    ],
);
