//! `[sim]`.

use super::Absent::{Is, Means, Needed};
use super::ValueKind::{Number, OneOrMore, Tables, Time, Truth, Whole, Word};
use super::{Table, key, names, table};
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
            Whole(1..=limits::THREADS_MAX),
            Means("one for each loop"),
            "4",
            "How many cores serve, equally many for each loop. Cores of one loop share its queues.",
        ),
        key(
            "stealing",
            Truth,
            Is("false"),
            "true",
            "A core without work takes that of the loop furthest behind; needs two loops or more.",
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
            "Mean of an exponential delay on top of each way.",
        ),
        key(
            "receive",
            Time(COSTS),
            Is("\"1.7us\""),
            "\"500ns\"",
            "What receiving a message costs the server.",
        ),
        key(
            "send",
            Time(COSTS),
            Is("\"2.7us\""),
            "\"500ns\"",
            "What sending a message costs the server.",
        ),
        key(
            "shed",
            Time(COSTS),
            Is("\"1us\""),
            "\"200ns\"",
            "What deciding on a reject and building it costs beside that.",
        ),
        key(
            "connection",
            Time(COSTS),
            Is("\"0s\""),
            "\"300ns\"",
            "What turning to a connection that has sent something costs beside that, once in each turn of a loop.",
        ),
        key(
            "coalescing",
            Truth,
            Is("false"),
            "true",
            "Messages of one connection that are received, or sent, in one turn of a loop cost what one does.",
        ),
        key(
            "parse_every",
            Time(COSTS),
            Is("\"50us\""),
            "\"0s\"",
            "How long handlers run before waiting messages are parsed; 0s: each is parsed at once.",
        ),
        key(
            "wake",
            Word(|| names(WAKES)),
            Is("\"front\""),
            "\"back\"",
            "Where a request goes in the run queue that was handed a lock.",
        ),
        key(
            "wake_up",
            Time(COSTS),
            Is("\"26us\""),
            "\"5us\"",
            "From waking a sleeping thread until it runs on an idle core; where a model is given.",
        ),
        key(
            "hand_over",
            Time(COSTS),
            Is("\"10us\""),
            "\"2us\"",
            "What it costs a thread to wake another on an idle core to hand it a request; where a model is given.",
        ),
        key(
            "switch",
            Time(COSTS),
            Is("\"2.5us\""),
            "\"1us\"",
            "What it costs a core to turn to another thread; where a model is given.",
        ),
        key(
            "stalls",
            Tables(&STALLS),
            Means("none"),
            "{ per_second = 5, lengths = [\"2ms\", \"4ms\"] }",
            "When the machine takes a core away, and for how long; tailwater probe measures it.",
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
            "How many begin.",
        ),
        key(
            "lengths",
            OneOrMore(&Time(Duration::from_nanos(1)..=limits::FAULT_TIME_MAX)),
            Needed,
            "[\"2ms\", \"4ms\"]",
            "Each as likely as the others; what stands twice is twice as likely.",
        ),
    ],
);
