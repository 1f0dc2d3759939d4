//! The one rule by which a number of ours counts as the text's.
//!
//! Shares agree within three points, rates within three per cent, times within a factor of two. Ratios agree when
//! what they exceed one by does so within a factor of two: a ratio of one, no difference, is never agreement. Limits
//! hold as they are stated. No claim has a tolerance of its own.

use crate::data::{Bound, Dimension, Unit};

/// Points between two shares.
pub const POINTS: f64 = 3.0;
/// Per cent between two rates: the same three points, for goodput that the text states in requests per second.
pub const RATE_PERCENT: f64 = 3.0;
/// Between two times, and between what two ratios exceed one by.
pub const FACTOR: f64 = 2.0;

/// Whether ours counts as theirs, both in the same unit.
#[must_use]
pub fn is_met(unit: Unit, bound: Option<Bound>, theirs: f64, ours: f64) -> bool {
    match bound {
        Some(Bound::AtLeast) => ours >= theirs,
        Some(Bound::AtMost) => ours <= theirs,
        None => agrees(unit.dimension(), theirs, ours),
    }
}

fn agrees(dimension: Dimension, theirs: f64, ours: f64) -> bool {
    let within_factor = |ratio: f64| (1.0 / FACTOR..=FACTOR).contains(&ratio);
    match dimension {
        Dimension::Share => (ours - theirs).abs() <= POINTS,
        Dimension::Rate => (ours / theirs - 1.0).abs() * 100.0 <= RATE_PERCENT,
        Dimension::Time => within_factor(ours / theirs),
        Dimension::Ratio => within_factor((ours - 1.0) / (theirs - 1.0)),
        Dimension::Count => false,
    }
}

/// The rule for one claim, in words.
#[must_use]
pub fn asked(unit: Unit, bound: Option<Bound>) -> String {
    match (bound, unit.dimension()) {
        (Some(Bound::AtLeast), _) => "at least that".into(),
        (Some(Bound::AtMost), _) => "at most that".into(),
        (None, Dimension::Share) => format!("± {POINTS} points"),
        (None, Dimension::Rate) => format!("± {RATE_PERCENT} %"),
        (None, Dimension::Time) => format!("within a factor of {FACTOR}"),
        (None, Dimension::Ratio) => format!("excess over 1 within a factor of {FACTOR}"),
        (None, Dimension::Count) => "nothing".into(),
    }
}

/// Whether a system without the effect would fail: a share of so few points that none would do is no claim.
/// A limit is taken as it is stated, also where a system that does nothing keeps it.
#[must_use]
pub fn can_fail(unit: Unit, bound: Option<Bound>, theirs: f64) -> bool {
    match unit.dimension() {
        _ if bound.is_some() => true,
        Dimension::Share => !is_met(unit, bound, theirs, 0.0),
        Dimension::Ratio => (theirs - 1.0).abs() > f64::EPSILON,
        Dimension::Rate | Dimension::Time => theirs > 0.0,
        Dimension::Count => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Unit::{Krps, Millis, Percent, Times};

    fn met(unit: Unit, theirs: f64, ours: f64) -> bool {
        is_met(unit, None, theirs, ours)
    }

    #[test]
    fn what_is_out_of_tolerance_is_not_met() {
        assert!(met(Percent, 5.7, 8.6) && !met(Percent, 5.7, 2.6) && !met(Percent, 5.7, 8.8));
        assert!(met(Krps, 801.0, 825.0) && !met(Krps, 801.0, 826.0));
        assert!(met(Millis, 500.0, 251.0) && !met(Millis, 500.0, 249.0));
        assert!(met(Times, 1.9, 1.46) && !met(Times, 1.9, 1.44) && !met(Times, 1.9, 2.9));
    }

    #[test]
    fn no_difference_is_never_agreement() {
        assert!(!met(Times, 1.5, 1.0) && !met(Times, 1.5, 0.9));
        assert!(!can_fail(Percent, None, 2.2) && can_fail(Percent, None, 5.1));
        assert!(!can_fail(Times, None, 1.0));
    }

    #[test]
    fn limits_hold_as_they_are_stated() {
        let at = |bound, ours| is_met(Times, Some(bound), 1.4, ours);
        assert!(at(Bound::AtMost, 1.4) && !at(Bound::AtMost, 1.41));
        assert!(at(Bound::AtLeast, 1.4) && !at(Bound::AtLeast, 1.39));
    }
}
