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
            "The numbers of the cores of the generator's threads, one for each. Two are needed where one cannot send the load.",
        ),
        key("threads", Whole(1..=limits::THREADS_MAX), Is("1"), "1", "Threads of the generator."),
        key(
            "pace",
            Word(words::<Pace>),
            Is("\"spin\""),
            "\"sleep\"",
            "How they wait for the next intended time. One that spins needs a core for itself; one that sleeps is \
             later by a wake-up, and is for cores that servers share. Sockets only.",
        ),
        key(
            "scheduling",
            Word(words::<Scheduling>),
            Is("\"normal\""),
            "\"fifo:1\"",
            "How the kernel schedules them: like all others, or before these, which is refused without the right. \
             Only with the pace \"sleep\". Sockets only.",
        ),
        key(
            "retry",
            One(&RETRY),
            Means("all its defaults"),
            "{ tries = 2 }",
            "What clients do when one of several replicas refuses. Only with server.replicas of 2 or more.",
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
            "Most replicas that one call is tried at; 1 for no retry. Each server's controller is built for \
             the objective divided by this.",
        ),
        key(
            "credit_wait",
            Time(Duration::from_nanos(1)..=limits::COST_MAX),
            Means("until its client gives the call up"),
            "\"10us\"",
            "How long a call waits for credit before it goes to another replica.",
        ),
        key(
            "budget",
            Number(0.0..=1.0, "retries per request"),
            Is("0.1"),
            "0.2",
            "Retries after a shed for each request of a client. At 1 a full fleet gets double the load.",
        ),
        key(
            "burst",
            Whole(0..=limits::RETRY_BURST_MAX),
            Is("10"),
            "5",
            "Such retries that may come at once.",
        ),
        key(
            "first",
            Word(|| names(FIRST)),
            Is("\"own\""),
            "\"primary\"",
            "Where requests go first: clients divided over the replicas, all to the first replica, or where \
             the client has the fewest requests.",
        ),
    ],
);
