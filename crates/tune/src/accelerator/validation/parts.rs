//! The model's inputs from measurements of one part each.

use super::cells::Cell;
use crate::accelerator::{Amount, Case, Input, Inputs, NoOutcome, Selection, Study, Weighting};
use serde::Serialize;

/// C: a second of the host's core in nanoseconds. The model's cycles are nanoseconds here.
const SECOND_NS: f64 = 1e9;

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
    /// A request with an empty offload in a design that switches threads.
    pub switched: Option<f64>,
}

impl Parts {
    /// The model's inputs, in nanoseconds. What noise makes negative is nothing.
    fn values(&self, cell: &Cell) -> [(Input, f64); 7] {
        let whole = self.work + self.kernel;
        let above = |larger: Option<f64>, smaller: Option<f64>| {
            larger.zip(smaller).map_or(0.0, |(larger, smaller)| (larger - smaller).max(0.0))
        };
        let switches = cell.design().of_throughput().switches.max(1.0);
        [
            (Input::KernelShare, self.kernel / whole),
            (Input::Offloads, SECOND_NS / whole),
            (Input::Setup, self.setup),
            (Input::Transfer, above(self.handed, Some(self.work + self.setup))),
            (Input::Queueing, above(self.queued, self.handed)),
            (Input::Switch, above(self.switched, self.handed) / switches),
            (Input::Acceleration, self.kernel / self.device),
        ]
    }
}

/// What is known of an input.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Known {
    /// As in files: alpha, n, o0, L, Q, o1 or A. Costs are nanoseconds.
    pub input: &'static str,
    /// Its mean over the rounds.
    pub mean: f64,
    /// The 5th percentile of the rounds.
    pub low: f64,
    /// The 95th.
    pub high: f64,
}

/// What the model says of a cell.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Prediction {
    /// Of which inputs.
    pub inputs: Vec<Known>,
    /// The factor on throughput.
    pub speedup: f64,
    /// The 5th percentile over what the rounds leave open.
    pub low: f64,
    /// The 95th.
    pub high: f64,
}

/// The model's answer for a cell by the rounds of its calibration.
///
/// Each input is drawn from what the rounds found for it, independently of the others.
///
/// # Errors
/// When the means of the rounds have no outcome.
pub fn predict(cell: &Cell, rounds: &[Parts], seed: u64) -> Result<Prediction, NoOutcome> {
    let case = case(cell, rounds);
    let study = Study::of(&case, None, seed)?;
    let speedup = study.outcome.speedup;
    let (low, high) = study.spread.map_or((speedup, speedup), |spread| (spread.p5, spread.p95));
    let known = |input: Input| {
        let amount = case.inputs.get(input)?;
        let mean = amount.central();
        let (low, high) = amount.range()?;
        Some(Known { input: input.name(), mean, low, high })
    };
    let inputs = Input::ALL.into_iter().filter_map(known).collect();
    Ok(Prediction { inputs, speedup, low, high })
}

fn case(cell: &Cell, rounds: &[Parts]) -> Case {
    let mut inputs = Inputs::default();
    inputs.set(Input::HostCycles, Amount::Exactly(SECOND_NS));
    let values: Vec<_> = rounds.iter().map(|parts| parts.values(cell)).collect();
    let count = values.first().map_or(0, |first| first.len());
    for at in 0..count {
        let mut found: Vec<f64> = values.iter().map(|round| round[at].1).collect();
        found.sort_by(f64::total_cmp);
        let weight = 1.0 / found.len() as f64;
        let entries = found.into_iter().map(|value| (value, weight)).collect();
        inputs.set(values[0][at].0, Amount::OneOf(entries));
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
        switched: Some(35_050.0),
    };

    fn of(threading: Threading) -> Cell {
        let mut cells = software(false).into_iter();
        cells.find(|cell| cell.threading == threading).expect("all are tried")
    }

    #[test]
    fn each_design_pays_what_its_equation_says() {
        // L is 1,000, Q 500 and o0 50; 4,000 are left for the switches, of which Sync-OS has two.
        for (threading, with) in [
            (Threading::Sync, 32_550.0),
            (Threading::SyncOs, 35_550.0),
            (Threading::Async, 31_550.0),
            (Threading::AsyncDistinct, 35_550.0),
            (Threading::AsyncNoResponse, 31_550.0),
        ] {
            let found = predict(&of(threading), &[PARTS; 3], 1).unwrap();
            assert!((found.speedup - 40_000.0 / with).abs() < 1e-9, "{threading:?}: {found:?}");
            assert!((found.high - found.low).abs() < 1e-9);
        }
    }

    #[test]
    fn rounds_that_differ_leave_an_interval_and_noise_no_negative_cost() {
        let slower = Parts { handed: Some(29_000.0), queued: None, switched: None, ..PARTS };
        let found = predict(&of(Threading::Async), &[PARTS, slower, PARTS, slower], 1).unwrap();
        assert!(found.low < found.speedup && found.speedup < found.high, "{found:?}");
        let known = |name| *found.inputs.iter().find(|known| known.input == name).unwrap();
        assert_eq!((known("L").low, known("L").high, known("L").mean), (0.0, 1_000.0, 500.0));
    }

    #[test]
    fn an_instruction_has_no_hand_over() {
        let parts = Parts { handed: None, queued: None, switched: None, setup: 0.0, ..PARTS };
        let found = predict(&of(Threading::Sync), &[parts; 2], 1).unwrap();
        assert!((found.speedup - 40.0 / 31.0).abs() < 1e-9);
    }
}
