//! The question the other way round: what a wanted gain takes.

use super::case::Case;
use super::input::{Input, Values};
use serde::Serialize;

/// A is searched up to here; beyond it is as good as without end.
const ACCELERATION_MAX: f64 = 1e6;
/// Offloads are searched from a millionth to a million times their size.
const FACTOR_MAX: f64 = 1e6;
/// Steps of halving: the answer is exact to a millionth.
const STEPS: u32 = 60;

/// What it takes to multiply throughput by a factor, changing one thing and nothing else.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Needs {
    /// The wanted factor on throughput.
    pub speedup: f64,
    /// Whether the case has it as it is.
    pub met: bool,
    /// The smallest A.
    pub acceleration: Answer,
    /// The largest L, in cycles.
    pub transfer: Answer,
    /// How many times as large offloads must be at least, the kernel's work staying what it is. Below 1 they may be
    /// smaller.
    pub size_factor: Answer,
}

/// One of the answers.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// This value does it, and whatever is better.
    Value(f64),
    /// No value does it.
    Never,
    /// Any value does it.
    Always,
}

/// For a factor above 1.
pub(super) fn needs(case: &Case, speedup: f64) -> Needs {
    let central = case.central();
    let reaches =
        |values: &Values| case.outcome(values).is_ok_and(|outcome| outcome.speedup >= speedup);
    let with_a = |a: f64| reaches(&central.with(Input::Acceleration, a));
    let with_l = |l: f64| reaches(&central.with(Input::Transfer, l));
    Needs {
        speedup,
        met: reaches(&central),
        acceleration: smallest(1e-3, ACCELERATION_MAX, with_a),
        transfer: largest(Input::Transfer.limits().1, with_l),
        size_factor: smallest(1.0 / FACTOR_MAX, FACTOR_MAX, |factor| {
            let (coarser, values) = case.coarser(&central, factor);
            coarser.outcome(&values).is_ok_and(|outcome| outcome.speedup >= speedup)
        }),
    }
}

/// The smallest value between the two for which something holds that holds for all larger ones.
fn smallest(low: f64, high: f64, holds: impl Fn(f64) -> bool) -> Answer {
    if holds(low) {
        return Answer::Always;
    }
    if !holds(high) {
        return Answer::Never;
    }
    // Halved on a logarithmic scale: the ends lie twelve decades apart.
    let (mut below, mut above) = (low.ln(), high.ln());
    for _ in 0..STEPS {
        let middle = f64::midpoint(below, above);
        if holds(middle.exp()) {
            above = middle;
        } else {
            below = middle;
        }
    }
    Answer::Value(above.exp())
}

/// The largest value from 0 to `high` for which something holds that holds for all smaller ones.
fn largest(high: f64, holds: impl Fn(f64) -> bool) -> Answer {
    if holds(high) {
        return Answer::Always;
    }
    if !holds(0.0) {
        return Answer::Never;
    }
    let (mut kept, mut beyond) = (0.0, high);
    for _ in 0..STEPS {
        let middle = f64::midpoint(kept, beyond);
        if holds(middle) {
            kept = middle;
        } else {
            beyond = middle;
        }
    }
    Answer::Value(kept)
}

impl Case {
    /// The same work in offloads that are `factor` times as large, with the numbers for it.
    fn coarser(&self, values: &Values, factor: f64) -> (Self, Values) {
        let sizes = self.sizes.as_ref().map(|sizes| sizes.coarser(factor));
        let fewer = factor.powf(self.beta);
        let count = values.get(Input::Offloads);
        let values = count.map_or(*values, |count| values.with(Input::Offloads, count / fewer));
        (Self { sizes, ..self.clone() }, values)
    }
}
