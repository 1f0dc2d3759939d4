//! What uncertain inputs leave open of the answer.

use super::case::{Case, NoOutcome};
use super::input::Input;
use serde::Serialize;
use tailwater_core::Rng;

/// Draws of a Monte Carlo: ends of an interval then have an error of a fraction of a percentile.
pub const DRAWS: u32 = 10_000;

/// By how much a bar of the tornado moves an input of which nothing is known but its value.
const ASSUMED: f64 = 0.1;

/// Percentiles of the factor on throughput, over draws of the uncertain inputs that have one, and what share of all
/// draws these are.
///
/// Inputs are drawn independently. Where two are measured together, such as L and A of one device, their errors may
/// add up or cancel. The interval is then too narrow or too wide.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct FactorPercentiles {
    /// 5th percentile.
    pub p5: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// The share of all draws in which throughput falls.
    pub slower: f64,
    /// The share of all draws in which the accelerator's queue grows without end.
    pub unstable: f64,
    /// The share of all draws in which the kernel has more cycles than its host. The inputs contradict each other there.
    pub oversized: f64,
}

impl FactorPercentiles {
    /// The share of all draws that the percentiles are of.
    #[must_use]
    pub fn answered(&self) -> f64 {
        1.0 - self.unstable - self.oversized
    }
}

/// What one input does to the factor on throughput, while the others stay where they are.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Bar {
    /// Which.
    #[serde(serialize_with = "by_name")]
    pub input: Input,
    /// Its lower and its upper end.
    pub ends: (f64, f64),
    /// The answer at each; `None` where there is none.
    pub speedups: (Option<f64>, Option<f64>),
    /// The ends are 10 % below and above its value, since nothing else is known.
    pub assumed: bool,
}

fn by_name<S: serde::Serializer>(input: &Input, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(input.name())
}

impl Bar {
    /// How far the two answers lie apart.
    #[must_use]
    pub fn length(&self) -> f64 {
        match self.speedups {
            (Some(low), Some(high)) => (high - low).abs(),
            // Some value leaves no steady state: nothing moves the answer further.
            _ => f64::INFINITY,
        }
    }
}

/// Of a case with uncertain inputs; `None` where all are known, or no draw has an outcome.
pub(super) fn spread(case: &Case, seed: u64) -> Option<FactorPercentiles> {
    let is_uncertain =
        |input: &Input| case.inputs.get(*input).is_some_and(|of| of.range().is_some());
    if !Input::ALL.iter().any(is_uncertain) {
        return None;
    }
    let mut rng = Rng::from_seed(seed).split("accelerator");
    let (mut drawn, mut unstable, mut oversized) = (Vec::new(), 0_u32, 0_u32);
    for _ in 0..DRAWS {
        let values = case.inputs.values(|amount| amount.draw(&mut rng));
        match case.outcome(&values) {
            Ok(outcome) => drawn.push(outcome.speedup),
            Err(NoOutcome::Overloaded(_)) => unstable += 1,
            Err(NoOutcome::Oversized(_)) => oversized += 1,
            // Of no draw, and then of the middle neither.
            Err(NoOutcome::Lacking(_) | NoOutcome::Timeless) => return None,
        }
    }
    drawn.sort_by(f64::total_cmp);
    let last = drawn.len().checked_sub(1)?;
    let at = |share: f64| drawn[(share * last as f64).round() as usize];
    let slower = drawn.partition_point(|speedup| *speedup < 1.0);
    let of_all = |count: usize| count as f64 / f64::from(DRAWS);
    Some(FactorPercentiles {
        p5: at(0.05),
        p50: at(0.5),
        p95: at(0.95),
        slower: of_all(slower),
        unstable: of_all(unstable as usize),
        oversized: of_all(oversized as usize),
    })
}

/// The bars of all inputs that move the answer, the longest first.
pub(super) fn tornado(case: &Case) -> Vec<Bar> {
    let central = case.central();
    let speedup = |input: Input, value: f64| {
        case.outcome(&central.with(input, value)).ok().map(|outcome| outcome.speedup)
    };
    let bar = |input: Input| {
        let value = central.get(input)?;
        let said = case.inputs.get(input)?.range();
        let (low, high) = input.limits();
        let around = (value * (1.0 - ASSUMED), value * (1.0 + ASSUMED));
        let ends = said.unwrap_or((around.0.max(low), around.1.min(high)));
        let speedups = (speedup(input, ends.0), speedup(input, ends.1));
        Some(Bar { input, ends, speedups, assumed: said.is_none() })
    };
    let mut bars: Vec<Bar> = Input::ALL.into_iter().filter_map(bar).collect();
    bars.retain(|bar| bar.length() > 1e-9);
    bars.sort_by(|one, other| other.length().total_cmp(&one.length()));
    bars
}
