//! The model's inputs from measurements of one part each.

use super::cells::Cell;
use crate::accelerator::{Amount, Case, Input, Inputs, NoOutcome, Selection, Weighting};
use serde::{Deserialize, Serialize};
use tailwater_core::Rng;

/// C: a second of the host's core in nanoseconds. The model's cycles are nanoseconds here.
const SECOND_NS: f64 = 1e9;
/// Times that rounds are drawn anew: ends of an interval then have an error of a percentile.
const REDRAWN: usize = 1_000;
/// The ends of intervals.
const ENDS: (f64, f64) = (0.05, 0.95);

/// What one round of calibration found for one cell: nanoseconds of the host's core for one request or one offload, each
/// from a block of its own.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Parts {
    /// A request without its kernel.
    pub work: f64,
    /// The kernel by the host.
    pub kernel: f64,
    /// The kernel by the accelerator, from when it has the data until it has the answer.
    pub device: f64,
    /// Describing an offload, and taking an answer that is there.
    pub setup: f64,
    /// A request with an empty offload, for which the thread waits as long as the design's driver does. None where
    /// nothing is handed over, as with an instruction.
    pub handed: Option<f64>,
    /// The same while other hosts use the accelerator.
    pub queued: Option<f64>,
    /// o₁: what the switches of an offload cost, each where the equation has two, all where it has one.
    pub switch: Option<f64>,
    /// The accelerator's time from one offload to the next where it never waits for one. None where the host waits for each
    /// answer, so that it cannot ask for more.
    pub busy: Option<f64>,
}

impl Parts {
    /// The mean of each part.
    fn mean<'p>(rounds: impl Iterator<Item = &'p Self> + Clone) -> Self {
        let count = rounds.clone().count().max(1) as f64;
        let of = |part: &dyn Fn(&Self) -> f64| rounds.clone().map(part).sum::<f64>() / count;
        let of_some = |part: &dyn Fn(&Self) -> Option<f64>| {
            // A part is measured in every round or in none.
            rounds.clone().map(part).sum::<Option<f64>>().map(|sum| sum / count)
        };
        Self {
            work: of(&|parts| parts.work),
            kernel: of(&|parts| parts.kernel),
            device: of(&|parts| parts.device),
            setup: of(&|parts| parts.setup),
            handed: of_some(&|parts| parts.handed),
            queued: of_some(&|parts| parts.queued),
            switch: of_some(&|parts| parts.switch),
            busy: of_some(&|parts| parts.busy),
        }
    }

    /// The factor on throughput at which the accelerator has no time left.
    fn bound(&self) -> Option<f64> {
        self.busy.map(|busy| (self.work + self.kernel) / busy)
    }

    /// The model's inputs, in nanoseconds. A difference of means that is below zero is nothing.
    fn values(&self) -> [(Input, f64); 7] {
        let whole = self.work + self.kernel;
        let above = |larger: Option<f64>, smaller: Option<f64>| {
            larger.zip(smaller).map_or(0.0, |(larger, smaller)| (larger - smaller).max(0.0))
        };
        [
            (Input::KernelShare, self.kernel / whole),
            (Input::Offloads, SECOND_NS / whole),
            (Input::Setup, self.setup),
            (Input::Transfer, above(self.handed, Some(self.work + self.setup))),
            (Input::Queueing, above(self.queued, self.handed)),
            (Input::Switch, self.switch.unwrap_or(0.0)),
            (Input::Acceleration, self.kernel / self.device),
        ]
    }
}

/// What is known of an input.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Known {
    /// As in files: alpha, n, o0, L, Q, o1 or A. Costs are nanoseconds.
    pub input: String,
    /// By the means of the rounds.
    pub mean: f64,
    /// The 5th percentile, of rounds that are drawn anew.
    pub low: f64,
    /// The 95th.
    pub high: f64,
}

/// What the model says of a cell.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Prediction {
    /// Of which inputs.
    pub inputs: Vec<Known>,
    /// Rounds of calibration.
    pub rounds: u32,
    /// The factor on throughput: what the equation gives, or `bound` if that is less.
    pub speedup: f64,
    /// The factor at which the accelerator has no time left, which the equations leave out. `None` where nothing bounds it, and
    /// in results of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<f64>,
    /// The 5th percentile, of rounds that are drawn anew: what they leave open of their means.
    pub low: f64,
    /// The 95th.
    pub high: f64,
}

/// The model's answer for a cell by the means of its calibration's rounds.
///
/// Intervals are by the bootstrap: as many rounds are drawn with replacement, and each set of them predicts. Parts that were
/// measured in one round stay together.
///
/// # Errors
/// When the means of the rounds have no outcome.
pub fn predict(cell: &Cell, rounds: &[Parts], seed: u64) -> Result<Prediction, NoOutcome> {
    let mean = Parts::mean(rounds.iter());
    let (values, speedup) = answer(cell, &mean)?;
    let mut rng = Rng::from_seed(seed).split("rounds drawn anew");
    let mut drawn = Vec::with_capacity(REDRAWN);
    for _ in 0..REDRAWN {
        let picks: Vec<usize> =
            rounds.iter().map(|_| rng.below(rounds.len() as u32) as usize).collect();
        // One set of rounds in a thousand that contradicts itself widens nothing.
        drawn.extend(answer(cell, &Parts::mean(picks.iter().map(|at| &rounds[*at]))).ok());
    }
    let known = |(at, (input, mean)): (usize, (Input, f64))| {
        let (low, high) = ends(drawn.iter().map(|(values, _)| values[at].1), mean);
        Known { input: input.name().to_owned(), mean, low, high }
    };
    let (low, high) = ends(drawn.iter().map(|(_, speedup)| *speedup), speedup);
    Ok(Prediction {
        inputs: values.into_iter().enumerate().map(known).collect(),
        rounds: rounds.len() as u32,
        speedup,
        bound: mean.bound(),
        low,
        high,
    })
}

/// The model's inputs and its factor on throughput.
fn answer(cell: &Cell, parts: &Parts) -> Result<([(Input, f64); 7], f64), NoOutcome> {
    let values = parts.values();
    let case = case(cell, &values);
    let by_equation = case.outcome(&case.central())?.speedup;
    Ok((values, parts.bound().map_or(by_equation, |bound| by_equation.min(bound))))
}

/// The 5th and the 95th percentile; of nothing both are the value that is known otherwise.
fn ends(values: impl Iterator<Item = f64>, otherwise: f64) -> (f64, f64) {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1) as f64;
    let at = |share: f64| sorted.get((last * share).round() as usize).copied();
    (at(ENDS.0).unwrap_or(otherwise), at(ENDS.1).unwrap_or(otherwise))
}

fn case(cell: &Cell, values: &[(Input, f64)]) -> Case {
    let mut inputs = Inputs::default();
    inputs.set(Input::HostCycles, Amount::Exactly(SECOND_NS));
    for (input, value) in values {
        inputs.set(*input, Amount::Exactly(*value));
    }
    Case {
        name: String::new(),
        design: cell.design(),
        inputs,
        sizes: None,
        queue: None,
        selection: Selection::All,
        weighting: Weighting::Work,
        beta: 1.0,
        batch: 1,
        hosts: 1,
        elapsed: None,
        stated: None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::cells::software;
    use super::*;
    use crate::accelerator::Threading;

    const PARTS: Parts = Parts {
        work: 30_000.0,
        kernel: 10_000.0,
        device: 1_000.0,
        setup: 50.0,
        handed: Some(31_050.0),
        queued: Some(31_550.0),
        switch: Some(2_000.0),
        busy: Some(1_000.0),
    };

    fn of(threading: Threading) -> Cell {
        let mut cells = software(false).into_iter();
        cells.find(|cell| cell.threading == threading).expect("all are tried")
    }

    #[test]
    fn each_design_pays_what_its_equation_says() {
        // L is 1,000, Q 500, o0 50 and o1 2,000, of which Sync-OS has two.
        for (threading, with) in [
            (Threading::Sync, 32_550.0),
            (Threading::SyncOs, 35_550.0),
            (Threading::Async, 31_550.0),
            (Threading::AsyncDistinct, 33_550.0),
            (Threading::AsyncNoResponse, 31_550.0),
        ] {
            let found = predict(&of(threading), &[PARTS; 3], 1).unwrap();
            assert!((found.speedup - 40_000.0 / with).abs() < 1e-9, "{threading:?}: {found:?}");
            assert!((found.high - found.low).abs() < 1e-9);
        }
    }

    #[test]
    fn no_more_is_gained_than_the_accelerator_has_time_for() {
        // By equation 6.6 a request takes 31,550 of 40,000.
        for (busy, speedup) in [(31_000.0, 40_000.0 / 31_550.0), (32_000.0, 1.25)] {
            let parts = Parts { busy: Some(busy), ..PARTS };
            let found = predict(&of(Threading::Async), &[parts; 3], 1).unwrap();
            assert!((found.speedup - speedup).abs() < 1e-9, "{found:?}");
            assert_eq!(found.bound, Some(40_000.0 / busy));
        }
        let found = predict(&of(Threading::Sync), &[Parts { busy: None, ..PARTS }; 3], 1).unwrap();
        assert_eq!(found.bound, None);
    }

    #[test]
    fn noise_of_both_signs_leaves_no_cost_and_an_interval_of_the_mean() {
        // Without a transfer: half of the rounds find 500 too much, and half 500 too little.
        let round = |at: usize| {
            let handed = Some(30_050.0 + if at.is_multiple_of(2) { 500.0 } else { -500.0 });
            Parts { handed, queued: None, switch: None, ..PARTS }
        };
        let rounds: Vec<Parts> = (0..20).map(round).collect();
        let found = predict(&of(Threading::Async), &rounds, 1).unwrap();
        let known = |name| found.inputs.iter().find(|known| known.input == name).unwrap();
        assert!(known("L").mean.abs() < 1e-6, "{:?}", known("L"));
        // The mean of 20 rounds strays by 500 / √20, of which its 95th percentile is 1.6 times.
        assert!(
            known("L").low == 0.0 && (80.0..400.0).contains(&known("L").high),
            "{:?}",
            known("L")
        );
        assert!(found.low < found.speedup && found.speedup <= found.high, "{found:?}");
    }

    #[test]
    fn an_instruction_has_no_hand_over() {
        let parts = Parts { handed: None, queued: None, switch: None, setup: 0.0, ..PARTS };
        let found = predict(&of(Threading::Sync), &[parts; 2], 1).unwrap();
        assert!((found.speedup - 40.0 / 31.0).abs() < 1e-9);
    }
}
