//! How long something takes: a distribution with what it needs.

use super::Absent::{Means, Needed, OneOf};
use super::ValueKind::{Number, Text, Time, TimeOr, Word};
use super::{Key, Table, Variant, key};
use crate::limits;
use std::ops::RangeInclusive;
use std::time::Duration;

pub(super) const MEANS: RangeInclusive<Duration> = Duration::ZERO..=limits::SERVICE_MAX;
const LONGEST: RangeInclusive<Duration> = Duration::from_nanos(1)..=limits::REQUEST_MAX;

/// A time alone, which is a constant, or a table.
pub(super) const TIME_OR: super::ValueKind = TimeOr(MEANS, &TIME);

static TIME: Table = Table {
    head: "{ distribution, mean }",
    meaning: "How long something takes, drawn each time. A duration alone is a constant.",
    keys: &[DISTRIBUTION, MEAN, SIGMA, P99_OF_P50, SHAPE, MAX, FILE],
    variants: VARIANTS,
};

pub(super) const DISTRIBUTION: Key = key(
    "distribution",
    Word(|| VARIANTS.iter().map(|variant| variant.name).collect()),
    Needed,
    "\"exponential\"",
    "Its shape. exponential is the usual one where nothing is known; lognormal where median and tail are.",
);
pub(super) const MEAN: Key = key(
    "mean",
    Time(MEANS),
    Needed,
    "\"10us\"",
    "Its mean. 0s is an echo, where only the transport costs. Measured times may leave it out, and have their own.",
);
pub(super) const SIGMA: Key = key(
    "sigma",
    Number(limits::SIGMA, "standard deviation of the logarithm"),
    OneOf(&["sigma", "p99_of_p50"]),
    "0.8",
    "How wide a log-normal distribution is: 0.5 is narrow (its 99th percentile is 3.2 medians), 1.5 wide (33 medians).",
);
pub(super) const P99_OF_P50: Key = key(
    "p99_of_p50",
    Number(limits::P99_OF_P50, "times"),
    OneOf(&["sigma", "p99_of_p50"]),
    "10",
    "How wide a log-normal distribution is, by its 99th percentile as a multiple of its median. In place of sigma.",
);
pub(super) const SHAPE: Key = key(
    "shape",
    Number(limits::GAMMA_SHAPE, "no unit"),
    Needed,
    "1.5",
    "The shape of a gamma or a Pareto distribution; the latter takes 1.05 to 20. Smaller ones have longer tails.",
);
pub(super) const MAX: Key = key(
    "max",
    Time(LONGEST),
    Means("1,000 times the mean"),
    "\"50ms\"",
    "The longest time that a Pareto distribution draws.",
);
pub(super) const FILE: Key = key(
    "file",
    Text,
    Needed,
    "\"times.csv\"",
    "The file of measured times, beside the scenario's: a value with its unit on each line, or a table us,count. \
     docs/workloads.md describes it.",
);

/// Every distribution with the keys that mean something to it, beside `distribution` and `mean`.
pub(in crate::scenario) const VARIANTS: &[Variant] = &[
    shape("constant", &[], "Always the mean."),
    shape(
        "exponential",
        &[],
        "The usual assumption for independent requests: many short ones, few of several times the mean.",
    ),
    shape("bimodal", &[], "A fifth takes four times the mean, the others a quarter of it."),
    shape(
        "lognormal",
        &["sigma", "p99_of_p50"],
        "As many real services have it: a long tail on one side, whose width is chosen.",
    ),
    shape(
        "gamma",
        &["shape"],
        "Between constant (large shapes), exponential (1) and bursts (small ones).",
    ),
    shape("pareto", &["shape", "max"], "A tail that falls by a power, up to max."),
    shape("empirical", &["file"], "Values from a file, with the file's mean or another."),
];

const fn shape(
    name: &'static str,
    keys: &'static [&'static str],
    meaning: &'static str,
) -> Variant {
    Variant { name, keys, meaning }
}
