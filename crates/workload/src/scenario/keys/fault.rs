//! `[[fault]]`.

use super::Absent::{Is, Means, Needed};
use super::ValueKind::{Number, OneOrMore, Text, Time, Whole, Word};
use super::{Table, Variant, key, names};
use crate::limits;
use crate::scenario::choices::{CLAIMS, WAYS};
use std::ops::RangeInclusive;
use std::time::Duration;

const SPANS: RangeInclusive<Duration> = Duration::from_nanos(1)..=limits::FAULT_TIME_MAX;
const EXTRAS: RangeInclusive<Duration> = Duration::ZERO..=limits::FAULT_TIME_MAX;

pub(super) static FAULT: Table = Table {
    head: "[[fault]]",
    meaning: "Something that goes wrong. The simulator plays all kinds, sockets those that befall processes: server-restart, \
              server-pause and server-slow. There one may begin late by its own length, or by a hundredth of the window \
              where that is longer; later, or never, it voids the run.",
    keys: &[
        key(
            "at",
            Time(Duration::ZERO..=limits::DURATION_MAX),
            Needed,
            "\"100ms\"",
            "When it begins, counted from the beginning of the measured window, and within it.",
        ),
        key("for", Time(SPANS), Needed, "\"20ms\"", "How long it lasts, from when it begins."),
        key(
            "kind",
            Word(|| VARIANTS.iter().map(|variant| variant.name).collect()),
            Needed,
            "\"client-crash\"",
            "What goes wrong: one of the kinds above.",
        ),
        key(
            "share",
            Number(0.0..=1.0, "share of the clients"),
            Is("1.0"),
            "0.5",
            "The share of the clients that it strikes, rounded up to whole clients; the seed decides which.",
        ),
        key(
            "client",
            OneOrMore(&Whole(1..=limits::CLIENTS_MAX)),
            Means("share decides"),
            "[1, 10]",
            "The number of the client that it strikes, from 1; or the first and the last of several. In place of share.",
        ),
        key(
            "tier",
            Text,
            Means("the server that clients ask"),
            "\"leaf\"",
            "The name of the tier that it strikes; left out for the server.",
        ),
        key(
            "node",
            Whole(1..=limits::NODES_MAX * limits::REPLICAS_MAX),
            Means("all of them"),
            "2",
            "Which node of the tier, or which replica, from 1. Where nodes have replicas, all of these are counted, those of the \
             first node first; tailwater check tells which it is.",
        ),
        key(
            "way",
            Word(|| names(WAYS)),
            Means("both"),
            "\"answers\"",
            "Which messages of a link it strikes: those to the node, or those from it.",
        ),
        key(
            "speed",
            Number(limits::SPEED, "share of the full speed"),
            Needed,
            "0.25",
            "The speed at which the cores work: 0.25 takes four times as long.",
        ),
        key(
            "factor",
            Number(1.0..=limits::FAULT_FACTOR_MAX, "times"),
            Is("1.0"),
            "3",
            "By how much the delay of every message is multiplied.",
        ),
        key(
            "extra",
            Time(EXTRAS),
            Is("\"0s\""),
            "\"1ms\"",
            "What is added to the delay of every message.",
        ),
        key(
            "loss",
            Number(0.0..=0.99, "probability"),
            Needed,
            "0.01",
            "How likely a message is lost and sent again.",
        ),
        key(
            "timeout",
            Time(SPANS),
            Needed,
            "\"5ms\"",
            "How long the transport waits before it sends a lost message again.",
        ),
        key(
            "offset",
            Time(EXTRAS),
            Is("\"0s\""),
            "\"1ms\"",
            "How far clients' clocks are ahead or behind, at most; the seed decides for each.",
        ),
        key(
            "drift_ppm",
            Number(0.0..=limits::DRIFT_PPM_MAX, "millionths"),
            Is("0"),
            "50",
            "How much clients' clocks gain or lose, at most, in millionths; the seed decides for each.",
        ),
        key(
            "demand",
            Word(|| names(CLAIMS)),
            Needed,
            "\"everything\"",
            "What lying clients say that they have waiting.",
        ),
    ],
    variants: VARIANTS,
};

/// Every kind with the keys that mean something to it, beside `kind`.
pub(in crate::scenario) const VARIANTS: &[Variant] = &[
    kind(
        "client-crash",
        &["at", "for", "share", "client"],
        "The client's process dies with all that it knew; what it would have asked meanwhile is lost.",
    ),
    kind(
        "server-restart",
        &["at", "for", "tier", "node"],
        "The process of each node that is struck dies with all that it knew and comes back; on sockets it is killed, and \
         started anew after that time.",
    ),
    kind(
        "server-pause",
        &["at", "for", "tier", "node"],
        "Nodes stand still; messages pile up. On sockets their processes are stopped.",
    ),
    kind(
        "server-slow",
        &["at", "for", "tier", "node", "speed"],
        "The cores of nodes work at a fraction of their speed; work that has begun keeps its pace. On sockets it is what \
         handlers compute that takes so much longer.",
    ),
    kind(
        "slow-link",
        &["at", "for", "share", "client", "tier", "node", "way", "factor", "extra"],
        "Every message takes longer; factor, extra or both are needed.",
    ),
    kind(
        "lossy-link",
        &["at", "for", "share", "client", "tier", "node", "way", "loss", "timeout"],
        "Messages are lost and sent again; what was sent behind one on the same connection waits for it.",
    ),
    kind(
        "partition",
        &["at", "for", "share", "client", "tier", "node", "way", "timeout"],
        "No message comes through; each is sent again and again.",
    ),
    kind(
        "clock",
        &["share", "client", "offset", "drift_ppm"],
        "Clients' clocks are wrong, throughout the run.",
    ),
    kind(
        "lie",
        &["at", "for", "share", "client", "demand"],
        "Clients keep to their windows, but claim this demand whatever they really have.",
    ),
    kind(
        "flood",
        &["at", "for", "share", "client"],
        "Clients send at once whatever they are asked for, credit or not.",
    ),
];

const fn kind(name: &'static str, keys: &'static [&'static str], meaning: &'static str) -> Variant {
    Variant { name, keys, meaning }
}
