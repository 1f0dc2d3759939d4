//! `[sim]`.

use super::Absent::{Is, Means, Needed};
use super::ValueKind::{Number, OneOrMore, Tables, Time, Truth, Whole, Word};
use super::{Table, key, names, table, times};
use crate::limits;
use crate::scenario::choices::WAKES;
use std::ops::RangeInclusive;
use std::time::Duration;

const COSTS: RangeInclusive<Duration> = Duration::ZERO..=limits::COST_MAX;

pub(super) static SIM: Table = table(
    "[sim]",
    "What the simulator assumes of machine and network. Nothing else reads it; docs/simulator.md is the model.",
    &[
        key(
            "cores",
            Whole(1..=limits::POOL_MAX),
            Means("one for each loop"),
            "4",
            "How many cores serve, equally many for each loop. Cores of one loop share its queues.",
        ),
        key(
            "stealing",
            Truth,
            Is("false"),
            "true",
            "Whether a core without work takes that of the loop furthest behind, as runtimes with work stealing do; \
             ours does not. Needs two loops or more.",
        ),
        key(
            "rtt",
            Time(COSTS),
            Is("\"25us\""),
            "\"10us\"",
            "A round trip through the network, without the server.",
        ),
        key(
            "jitter",
            Time(COSTS),
            Is("\"0s\""),
            "\"5us\"",
            "How much longer a message takes in the mean, each way; drawn from an exponential distribution.",
        ),
        key(
            "receive",
            Time(COSTS),
            Is("\"1.7us\""),
            "\"500ns\"",
            "Core time to receive and parse a message.",
        ),
        key("send", Time(COSTS), Is("\"2.7us\""), "\"500ns\"", "Core time to send a message."),
        key(
            "shed",
            Time(COSTS),
            Is("\"1us\""),
            "\"200ns\"",
            "Core time to decide on a reject and build it, beside sending it.",
        ),
        key(
            "connection",
            Time(COSTS),
            Is("\"0s\""),
            "\"300ns\"",
            "Core time to turn to a connection that has sent something, beside receiving; once in each turn of a loop.",
        ),
        key(
            "coalescing",
            Truth,
            Is("false"),
            "true",
            "Whether messages of one connection that are received, or sent, in one turn of a loop cost together what \
             one does.",
        ),
        key(
            "parse_every",
            Time(COSTS),
            Is("\"50us\""),
            "\"0s\"",
            "For how long handlers run before waiting messages are parsed. 0s: each is parsed at once. The runtime has \
             50 µs.",
        ),
        key(
            "wake",
            Word(|| names(WAKES)),
            Is("\"front\""),
            "\"back\"",
            "Where a request that was handed a lock goes in its loop's run queue. front: before all else. back: to the \
             end, so that with full cores a lock is held for longer.",
        ),
        key(
            "wake_up",
            times::TIME_OR,
            Is("\"26us\""),
            "{ distribution = \"exponential\", mean = \"5us\" }",
            "How long a sleeping thread takes to run on an idle core once it is woken; drawn for each wake-up. Counts \
             only where a threading model is given.",
        ),
        key(
            "hand_over",
            Time(COSTS),
            Is("\"10us\""),
            "\"2us\"",
            "Core time to wake another thread on an idle core, for a request or calls that are handed to it. Counts only \
             where a threading model is given.",
        ),
        key(
            "switch",
            Time(COSTS),
            Is("\"2.5us\""),
            "\"1us\"",
            "Core time to turn to another thread. Counts only where a threading model is given.",
        ),
        key(
            "stalls",
            Tables(&STALLS),
            Means("none"),
            "{ per_second = 5, lengths = [\"2ms\", \"4ms\"] }",
            "How often and for how long the machine takes a core away, as hypervisors do. tailwater probe measures it \
             and prints these lines.",
        ),
    ],
);

static STALLS: Table = table(
    "sim.stalls",
    "Stalls of similar length, of each core by itself.",
    &[
        key(
            "per_second",
            Number(0.0..=limits::STALLS_PER_SECOND_MAX, "stalls per second of one core"),
            Needed,
            "5",
            "How many stalls of these lengths begin in a second, on each core.",
        ),
        key(
            "lengths",
            OneOrMore(&Time(Duration::from_nanos(1)..=limits::FAULT_TIME_MAX)),
            Needed,
            "[\"2ms\", \"4ms\"]",
            "The lengths that are drawn from, each as likely as the others; what stands twice is twice as likely.",
        ),
    ],
);
