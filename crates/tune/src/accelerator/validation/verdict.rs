//! What all cells come to.

use super::compared::{Compared, MeasuredFactor};
use serde::Serialize;
use tailwater_stats::result::Spread;

/// The thesis' largest difference between estimate and measurement, in points (§6.3).
pub const POINTS_MAX: f64 = 3.7;
/// The share of cells that shall be as close.
pub const WITHIN_MIN: f64 = 0.9;
/// The share of cells that shall be covered. Intervals are of 95 %, since those of 90 % would miss this by chance in every other
/// validation of a model that is right.
pub const COVERED_MIN: f64 = 0.9;
/// The largest median half width of intervals, in points: wider ones would cover whatever the thesis allows a model to be wrong by.
pub const HALF_WIDTH_MAX: f64 = POINTS_MAX;

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
    /// The share whose interval covers what was measured, with the model's own error where that is known.
    pub covered: f64,
    /// The share that the inputs' errors alone would cover.
    pub covered_by_inputs: f64,
    /// The median half width of these intervals, in points: what covering is worth.
    pub half_width_median: Option<f64>,
    /// The median difference without its sign, in points.
    pub points_median: f64,
    /// The largest.
    pub points_max: f64,
    /// Every cell was measured, enough are as close, and enough are covered by intervals that are narrow enough. The model's
    /// own error belongs to an interval: it is that of other sizes, so an error that grows with the size is not covered.
    pub holds: bool,
}

impl ValidationVerdict {
    /// None where no cell was measured.
    #[must_use]
    pub fn of(cells: &[Compared]) -> Option<Self> {
        let measured: Vec<MeasuredFactor> = cells.iter().filter_map(|cell| cell.measured).collect();
        if measured.is_empty() {
            return None;
        }
        let points: Vec<f64> = measured.iter().map(|found| found.points.abs()).collect();
        let points = Spread::of(&points);
        let share = |holds: &dyn Fn(&MeasuredFactor) -> bool| {
            measured.iter().filter(|found| holds(found)).count() as f64 / measured.len() as f64
        };
        let within = share(&|found| found.points.abs() <= POINTS_MAX);
        let within_without_gain = share(&|found| (found.speedup - 1.0).abs() * 100.0 <= POINTS_MAX);
        let covered_by_inputs = share(&|found| found.covered);
        let is_covered = |cell: &&Compared| match (&cell.own_error, cell.measured) {
            (Some(own), _) => own.covered,
            (None, found) => found.is_some_and(|found| found.covered),
        };
        let covered = cells.iter().filter(is_covered).count() as f64 / measured.len() as f64;
        let own = cells.iter().filter_map(|cell| cell.own_error);
        let half_widths: Vec<f64> = own.map(|own| (own.high - own.low) / 2.0 * 100.0).collect();
        let half_width_median = (!half_widths.is_empty()).then(|| Spread::of(&half_widths).median);
        let unmeasured = (cells.len() - measured.len()) as u32;
        Some(Self {
            cells: measured.len() as u32,
            unmeasured,
            within,
            within_without_gain,
            covered,
            covered_by_inputs,
            half_width_median,
            points_median: points.median,
            points_max: points.max,
            holds: unmeasured == 0
                && within >= WITHIN_MIN
                && covered >= COVERED_MIN
                && half_width_median.is_none_or(|points| points <= HALF_WIDTH_MAX),
        })
    }
}
