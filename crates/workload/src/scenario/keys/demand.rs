//! `[demand]` and `[capacity]`.

use super::Absent::{Is, Means, Needed, OneOf};
use super::ValueKind::{Number, OneOrMore, Tables, Time, Whole, Word};
use super::{Table, Variant, key, table, words};
use crate::arrivals::Arrivals;
use crate::limits;
use std::time::Duration;

const OF_CAPACITY: &str = "times capacity";
const PER_SECOND: &str = "requests/s";

pub(super) static DEMAND: Table = Table {
    head: "[demand]",
    meaning: "How much is asked, run by run, all clients together.",
    keys: &[
        key(
            "of_capacity",
            OneOrMore(&Number(0.01..=limits::OF_CAPACITY_MAX, OF_CAPACITY)),
            Needed,
            "[0.5, 1.0, 2.0]",
            "As multiples of the capacity that is measured beside the runs; each is a run.",
        ),
        key(
            "requests_per_second",
            OneOrMore(&Number(1.0..=limits::PER_SECOND_MAX, PER_SECOND)),
            Needed,
            "50000",
            "In absolute terms; each is a run.",
        ),
        key(
            "steps",
            Tables(&STEP),
            Needed,
            "[{ of_capacity = 0.5, for = \"250ms\" }, { of_capacity = 1.4, for = \"250ms\" }]",
            "A list of steps within each run. The warm-up offers the first.",
        ),
        key(
            "repeat",
            Whole(1..=limits::REPETITIONS_MAX),
            Is("1"),
            "10",
            "How often all steps are played in one run, so that repetitions can be laid over one another.",
        ),
        key(
            "bin",
            Time(Duration::from_micros(100)..=Duration::from_secs(60)),
            Is("\"5ms\""),
            "\"5ms\"",
            "Width of the bins of the time series. Narrow ones hold too few requests for a 99th percentile, \
             wide ones hide what happens right after a step.",
        ),
        key(
            "arrivals",
            OneOrMore(&Word(words::<Arrivals>)),
            Is("\"poisson\""),
            "\"bursts:4:10ms:90ms\"",
            "How requests are spread in time; each is a run: as by many independent clients; in equal gaps; in gaps of a gamma \
             distribution; in bursts of a multiple of the demand with mean lengths of bursts and of the time \
             between; with a rate that swings by a share of the demand in a period; or as by \u{b5}Suite's generator. \
             docs/workloads.md has more.",
        ),
    ],
    variants: &[
        Variant {
            name: "of_capacity",
            keys: &["arrivals"],
            meaning: "The same demand throughout a run.",
        },
        Variant {
            name: "requests_per_second",
            keys: &["arrivals"],
            meaning: "The same demand throughout a run.",
        },
        Variant {
            name: "steps",
            keys: &["repeat", "bin", "arrivals"],
            meaning: "Demand that changes within the run.",
        },
    ],
};

static STEP: Table = table(
    "demand.steps",
    "One step: either of_capacity or requests_per_second, and for how long.",
    &[
        key(
            "of_capacity",
            Number(0.0..=limits::OF_CAPACITY_MAX, OF_CAPACITY),
            OneOf(&["of_capacity", "requests_per_second"]),
            "1.4",
            "As a multiple of capacity; 0 for a pause.",
        ),
        key(
            "requests_per_second",
            Number(0.0..=limits::PER_SECOND_MAX, PER_SECOND),
            OneOf(&["of_capacity", "requests_per_second"]),
            "3000",
            "In absolute terms; 0 for a pause.",
        ),
        key(
            "to",
            Number(0.0..=limits::PER_SECOND_MAX, "as what the step begins with"),
            Means("the step's beginning: no ramp"),
            "1.4",
            "Where a ramp ends: demand goes there straight from the step's beginning.",
        ),
        key(
            "for",
            Time(limits::DURATION_MIN..=limits::DURATION_MAX),
            Needed,
            "\"250ms\"",
            "How long it lasts; a multiple of demand.bin.",
        ),
    ],
);

pub(super) static CAPACITY: Table = table(
    "[capacity]",
    "How capacity is found: in closed loop, without control. Its plateau is what of_capacity multiplies.",
    &[
        key(
            "in_flight",
            OneOrMore(&Whole(1..=limits::CLIENTS_MAX)),
            Means("a quarter, one and four for each client, between 16 and 4,096"),
            "[25, 100, 400]",
            "Requests in flight over all clients, one measurement each. Too few leave the server idle.",
        ),
        key(
            "duration",
            Time(limits::DURATION_MIN..=limits::DURATION_MAX),
            Is("\"300ms\""),
            "\"500ms\"",
            "How long each is measured, after a third of that to settle.",
        ),
        key(
            "every",
            Whole(1..=limits::EVERY_MAX),
            Means("the runs of one repetition"),
            "4",
            "Runs between two measurements, on a machine whose speed drifts. Sockets only.",
        ),
        key(
            "fixed_rps",
            Number(1.0..=limits::PER_SECOND_MAX, PER_SECOND),
            Means("it is measured"),
            "70000",
            "Taken for granted instead, as of a known testbed.",
        ),
    ],
);
