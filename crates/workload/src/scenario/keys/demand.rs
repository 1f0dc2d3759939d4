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
    meaning: "How much is asked, run by run, by all clients together.",
    keys: &[
        key(
            "of_capacity",
            OneOrMore(&Number(0.01..=limits::OF_CAPACITY_MAX, OF_CAPACITY)),
            Needed,
            "[0.5, 1.0, 2.0]",
            "Demand as multiples of the capacity that is measured beside the runs; each value is a run. 1.0 is as much \
             as the server can do, 2.0 twice that.",
        ),
        key(
            "requests_per_second",
            OneOrMore(&Number(1.0..=limits::PER_SECOND_MAX, PER_SECOND)),
            Needed,
            "50000",
            "Demand in requests per second; each value is a run. For a load that is known, and to compare machines.",
        ),
        key(
            "steps",
            Tables(&STEP),
            Needed,
            "[{ of_capacity = 0.5, for = \"250ms\" }, { of_capacity = 1.4, for = \"250ms\" }]",
            "Demand that changes within a run, step by step. The warm-up offers the first.",
        ),
        key(
            "repeat",
            Whole(1..=limits::REPETITIONS_MAX),
            Is("1"),
            "10",
            "How often all steps are played in one run. Repeats are laid over one another in the time series, which \
             makes it smooth.",
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
            "How requests are spread in time; each value is a run. poisson: as by many independent clients. periodic: \
             in equal gaps. gamma:0.25: in gaps of a gamma distribution of this shape, in clusters below 1. \
             bursts:4:10ms:90ms: four times the demand for 10 ms, then less for 90 ms, in the mean. diurnal:0.8:1s: a \
             rate that swings by 0.8 of the demand in a period of 1 s. metronome: as by µSuite's generator. \
             docs/workloads.md has more.",
        ),
    ],
    variants: &[
        Variant {
            name: "of_capacity",
            keys: &["arrivals"],
            meaning: "The same demand throughout a run, as a multiple of what the server can do.",
        },
        Variant {
            name: "requests_per_second",
            keys: &["arrivals"],
            meaning: "The same demand throughout a run, in absolute terms.",
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
            "Demand of this step as a multiple of capacity; 0 for a pause.",
        ),
        key(
            "requests_per_second",
            Number(0.0..=limits::PER_SECOND_MAX, PER_SECOND),
            OneOf(&["of_capacity", "requests_per_second"]),
            "3000",
            "Demand of this step in requests per second; 0 for a pause.",
        ),
        key(
            "to",
            Number(0.0..=limits::PER_SECOND_MAX, "as what the step begins with"),
            Means("the step's beginning: no ramp"),
            "1.4",
            "What demand has reached at the step's end, in the unit of its beginning; it rises or falls evenly.",
        ),
        key(
            "for",
            Time(limits::DURATION_MIN..=limits::DURATION_MAX),
            Needed,
            "\"250ms\"",
            "How long the step lasts; a multiple of demand.bin. Much longer than slo: else the next step answers what this \
             one leaves.",
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
            "How many requests are kept in flight over all clients, one measurement for each value. The capacity is the \
             median of the results within 3 % of the best. Too few leave the server idle.",
        ),
        key(
            "duration",
            Time(limits::DURATION_MIN..=limits::DURATION_MAX),
            Is("\"300ms\""),
            "\"500ms\"",
            "How long each measurement lasts, after a third of that to settle. Longer where results of it scatter.",
        ),
        key(
            "every",
            Whole(1..=limits::EVERY_MAX),
            Means("the runs of one repetition"),
            "4",
            "After how many runs capacity is measured again. Fewer on a machine whose speed drifts. Sockets only.",
        ),
        key(
            "fixed_rps",
            Number(1.0..=limits::PER_SECOND_MAX, PER_SECOND),
            Means("it is measured"),
            "70000",
            "The capacity, taken for granted instead of measured: for a known testbed, or where two files must have the \
             same demand.",
        ),
    ],
);
