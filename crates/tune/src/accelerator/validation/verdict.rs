//! Predicted beside measured.

use super::cells::Cell;
use super::parts::Prediction;
use super::trial::Trial;
use serde::Serialize;
use tailwater_stats::{PairedRatio, t_975};

/// The thesis' largest difference between estimate and measurement, in points (§6.3).
pub const POINTS_MAX: f64 = 3.7;
/// The share of cells that shall be as close.
pub const WITHIN_MIN: f64 = 0.9;
/// The share of cells that shall be covered. Intervals are of 95 %, since those of 90 % would miss this by chance in every other
/// validation of a model that is right.
pub const COVERED_MIN: f64 = 0.9;

/// One cell.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Compared {
    /// Which.
    #[serde(flatten)]
    pub cell: Cell,
    /// By the model, before anything was tried.
    pub predicted: Prediction,
    /// What came out; none with fewer than two trials that count.
    pub measured: Option<MeasuredFactor>,
    /// Trials that do not count.
    pub set_aside: u32,
}

/// The factor on throughput that was measured.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
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
    /// Whether the difference is within what is not known of either: the root of the sum of squares of both half widths,
    /// at 95 %.
    pub covered: bool,
}

impl Compared {
    /// Holds a prediction against what was tried.
    #[must_use]
    pub fn of(cell: Cell, predicted: Prediction, trials: &[Trial]) -> Self {
        let times: Vec<(f64, f64)> = trials.iter().filter_map(Trial::times).collect();
        let measured = PairedRatio::of(&times).ok().map(|found| MeasuredFactor {
            speedup: found.ratio,
            low: found.low,
            high: found.high,
            trials: found.pairs,
            points: (predicted.speedup - found.ratio) * 100.0,
            covered: is_covered(&predicted, &found),
        });
        let set_aside = (trials.len() - times.len()) as u32;
        Self { cell, predicted, measured, set_aside }
    }
}

/// By how much to widen the 5th and the 95th percentile of so many rounds drawn anew to an interval of 95 %. The percentiles
/// are those of a normal error whose variance is that of the rounds, divided by n and not by n − 1: few rounds seem to know
/// too much. One round alone covers nothing.
fn wider(rounds: u32) -> f64 {
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

/// All cells.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct ValidationVerdict {
    /// Cells that were measured.
    pub cells: u32,
    /// Cells with too few trials that count.
    pub unmeasured: u32,
    /// The share of the measured ones that differ by [`POINTS_MAX`] or less.
    pub within: f64,
    /// The share that would be as close if the model said that nothing is gained anywhere: what the one above is worth.
    pub within_without_gain: f64,
    /// The share whose interval covers what was measured.
    pub covered: f64,
    /// The median difference without its sign, in points.
    pub points_median: f64,
    /// The largest.
    pub points_max: f64,
    /// Both shares are what they shall be, and every cell was measured.
    pub holds: bool,
}

impl ValidationVerdict {
    /// None where no cell was measured.
    #[must_use]
    pub fn of(cells: &[Compared]) -> Option<Self> {
        let measured: Vec<MeasuredFactor> = cells.iter().filter_map(|cell| cell.measured).collect();
        let mut points: Vec<f64> = measured.iter().map(|found| found.points.abs()).collect();
        points.sort_by(f64::total_cmp);
        let points_max = *points.last()?;
        let share = |holds: &dyn Fn(&MeasuredFactor) -> bool| {
            measured.iter().filter(|found| holds(found)).count() as f64 / measured.len() as f64
        };
        let within = share(&|found| found.points.abs() <= POINTS_MAX);
        let within_without_gain = share(&|found| (found.speedup - 1.0).abs() * 100.0 <= POINTS_MAX);
        let covered = share(&|found| found.covered);
        let unmeasured = (cells.len() - measured.len()) as u32;
        Some(Self {
            cells: measured.len() as u32,
            unmeasured,
            within,
            within_without_gain,
            covered,
            points_median: points[points.len() / 2],
            points_max,
            holds: unmeasured == 0 && within >= WITHIN_MIN && covered >= COVERED_MIN,
        })
    }
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
