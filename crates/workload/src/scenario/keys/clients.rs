//! `[clients]` and `[clients.retry]`.

use super::Absent::{Is, Means, Needed};
use super::ValueKind::{Number, OneOrMore, Table as One, Time, Whole, Word};
use super::{Table, key, names, table, words};
use crate::limits;
use crate::scenario::choices::FIRST;
use std::time::Duration;
use tailwater_core::pace::{Pace, Scheduling};

pub(super) static CLIENTS: Table = table(
    "[clients]",
    "Who asks: logical clients, and the generator that plays them.",
    &[
        key(
            "count",
            OneOrMore(&Whole(1..=limits::CLIENTS_MAX)),
            Needed,
            "100",
            "Clients, each with a connection and control state of its own; each number is a configuration. \
             The more share the same demand, the staler each one's view of the server.",
        ),
        key(
            "cores",
            OneOrMore(&Whole(0..=limits::CORE_MAX)),
            Means("not pinned"),
            "1",
            "Pins the generator's threads to cores by their numbers, one for each thread. Sockets only.",
        ),
        key(
            "threads",
            Whole(1..=limits::THREADS_MAX),
            Is("1"),
            "1",
            "Threads of the generator. More than one where one cannot send the load in time: then runs are not valid \
             for lateness or for what was offered. Sockets only.",
        ),
        key(
            "pace",
            Word(words::<Pace>),
            Is("\"spin\""),
            "\"sleep\"",
            "How the generator's threads wait for the next intended time. spin needs a core for each; sleep is later by \
             a wake-up, and is for cores that servers share. Sockets only.",
        ),
        key(
            "scheduling",
            Word(words::<Scheduling>),
            Is("\"normal\""),
            "\"fifo:1\"",
            "How the kernel schedules the generator's threads. normal: like all others. batch: woken, they take no core from \
             another. idle: only where a core has nothing else to do. fifo:1 and rr:1: before all these, which needs the \
             right to (root, or CAP_SYS_NICE) and the pace \"sleep\". Sockets only.",
        ),
        key(
            "retry",
            One(&RETRY),
            Means("all its defaults"),
            "{ tries = 2 }",
            "Where requests go first, and what clients do when one of several replicas refuses. Only with \
             server.replicas of 2 or more.",
        ),
    ],
);

static RETRY: Table = table(
    "[clients.retry]",
    "How calls are tried again at another replica. Only where the server has replicas.",
    &[
        key(
            "tries",
            Whole(1..=limits::REPLICAS_MAX),
            Is("2"),
            "2",
            "At how many replicas one call is tried at most; 1 for no retry. Each server's controller is built for the \
             objective divided by this, so that all tries fit into it.",
        ),
        key(
            "credit_wait",
            Time(Duration::from_nanos(1)..=limits::COST_MAX),
            Means("until its client gives the call up"),
            "\"10us\"",
            "How long a call waits for credit at one replica before it goes to another. Shorter leaves a full replica \
             sooner.",
        ),
        key(
            "budget",
            Number(0.0..=1.0, "retries per request"),
            Is("0.1"),
            "0.2",
            "The retry budget: how many refused calls a client may try again, for each of its requests. At 1 a fleet \
             that is full gets twice the load.",
        ),
        key(
            "burst",
            Whole(0..=limits::RETRY_BURST_MAX),
            Is("10"),
            "5",
            "How many retries may come at once before the retry budget counts.",
        ),
        key(
            "first",
            Word(|| names(FIRST)),
            Is("\"own\""),
            "\"primary\"",
            "Where a request goes first. own: clients are divided over the replicas. primary: all to the first replica, \
             and the others are spares. least-loaded: where the client has the fewest requests.",
        ),
    ],
);
