//! Predicted beside measured, cell by cell.

use super::cells::Cell;
use super::parts::Prediction;
use super::trial::Trial;
use serde::{Deserialize, Serialize};
use tailwater_stats::{PairedRatio, t_975};

/// One cell.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Compared {
    /// Which.
    #[serde(flatten)]
    pub cell: Cell,
    /// By the model, from the calibration alone.
    pub predicted: Prediction,
    /// What came out; none with fewer than two trials that count.
    pub measured: Option<MeasuredFactor>,
    /// Trials that do not count.
    pub set_aside: u32,
    /// The model's own error, where cells of other sizes tell it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_error: Option<OwnError>,
}

/// The factor on throughput that was measured.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct MeasuredFactor {
    /// Geometric mean over the trials.
    pub speedup: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Trials that count.
    pub trials: u32,
    /// Predicted less measured, in points.
    pub points: f64,
    /// Whether the difference is within what is not known of the model's inputs and of the trials: the root of the sum of
    /// squares of both half widths, at 95 %.
    pub covered: bool,
    /// Nanoseconds of the host for a request without the accelerator, and with it: means of the trials. `None` in results of
    /// earlier versions, as all that follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_ns: Option<f64>,
    /// See `without_ns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with_ns: Option<f64>,
    /// How often the host's threads left their core for a request with the accelerator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switches: Option<f64>,
}

impl Compared {
    /// Holds a prediction against what was tried.
    #[must_use]
    pub fn of(cell: Cell, predicted: Prediction, trials: &[Trial]) -> Self {
        let times: Vec<(f64, f64)> = trials.iter().filter_map(Trial::times).collect();
        let mean = |of: &dyn Fn(&(f64, f64)) -> f64| {
            times.iter().map(of).sum::<f64>() / times.len().max(1) as f64
        };
        let (with_ns, without_ns) = (mean(&|pair| pair.0), mean(&|pair| pair.1));
        let switches = trials.iter().filter_map(Trial::switches).sum::<f64>();
        let measured = PairedRatio::of(&times).ok().map(|found| MeasuredFactor {
            without_ns: Some(without_ns),
            with_ns: Some(with_ns),
            switches: Some(switches / times.len().max(1) as f64),
            speedup: found.ratio,
            low: found.low,
            high: found.high,
            trials: found.pairs,
            points: (predicted.speedup - found.ratio) * 100.0,
            covered: is_covered(&predicted, &found),
        });
        let set_aside = (trials.len() - times.len()) as u32;
        Self { cell, predicted, measured, set_aside, own_error: None }
    }
}

/// A request in parts, as the thesis' Figures 6.16 to 6.18 have a service: shares of the host's time for one without the
/// accelerator.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RequestParts {
    /// The kernel's, by the inputs.
    pub kernel: f64,
    /// All of it with the accelerator, by the trials. `None` where too few count.
    pub with: Option<f64>,
}

impl Compared {
    /// The parts of this cell's request. `None` of a prediction without `alpha`, which only a file that was changed has.
    #[must_use]
    pub fn request(&self) -> Option<RequestParts> {
        let alpha = self.predicted.inputs.iter().find(|known| known.input == "alpha")?;
        let with = self.measured.map(|found| 1.0 / found.speedup);
        Some(RequestParts { kernel: alpha.mean, with })
    }
}

/// By how much to widen the 5th and the 95th percentile of so many rounds drawn anew to an interval of 95 %. The percentiles
/// are those of a normal error whose variance is that of the rounds, divided by n and not by n − 1: few rounds seem to know
/// too much. One round alone covers nothing.
pub(super) fn wider(rounds: u32) -> f64 {
    let freedom = rounds.saturating_sub(1);
    t_975(freedom as usize) * (f64::from(rounds) / f64::from(freedom)).sqrt() / 1.645
}

fn is_covered(predicted: &Prediction, found: &PairedRatio) -> bool {
    let difference = found.ratio - predicted.speedup;
    // The side of each that looks at the other.
    let (of_model, of_trials) = match difference >= 0.0 {
        true => (predicted.high - predicted.speedup, found.ratio - found.low),
        false => (predicted.speedup - predicted.low, found.high - found.ratio),
    };
    difference.abs() <= (of_model * wider(predicted.rounds)).hypot(of_trials)
}

/// What is known of a prediction once the model's own error counts, too.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct OwnError {
    /// The root of the mean square of the differences of other cells, predicted from measured, in nanoseconds of the host for
    /// a request.
    pub ns: f64,
    /// How many cells these are: those of the same threading and of another size.
    pub cells: u32,
    /// Lower end of the factor's interval of 95 %: both errors, those of the inputs and this one by Student's t.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Whether the difference is within both and what is not known of the trials.
    pub covered: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By tables of t: 4.303 and 2.093, times √(n / (n − 1)), over 1.645.
    #[test]
    fn few_rounds_leave_more_open() {
        assert!((wider(3) - 3.203).abs() < 1e-3, "{}", wider(3));
        assert!((wider(20) - 1.305).abs() < 1e-3, "{}", wider(20));
        assert!((wider(1_000_000) - 1.960 / 1.645).abs() < 1e-3);
    }
}
