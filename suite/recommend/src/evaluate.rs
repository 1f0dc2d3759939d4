//! How far predictions are from ratings that the model has not seen.

use crate::model::Query;
use crate::ratings::Rating;

/// Errors over held-out ratings.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Errors {
    /// Root of the mean squared error, in units of ratings.
    pub rmse: f64,
    /// Mean absolute error, likewise.
    pub mae: f64,
    /// How many ratings were predicted.
    pub count: usize,
}

impl Errors {
    /// Of a predictor; `None` without ratings.
    pub fn of(held_out: &[Rating], predict: impl Fn(Query) -> f64) -> Option<Self> {
        let (mut squares, mut absolute) = (0.0, 0.0);
        for rating in held_out {
            let query = Query { user: rating.user, item: rating.item };
            let error = predict(query) - f64::from(rating.value);
            squares += error * error;
            absolute += error.abs();
        }
        let count = held_out.len();
        let mean = |sum: f64| sum / count as f64;
        (count > 0).then(|| Self { rmse: mean(squares).sqrt(), mae: mean(absolute), count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_their_definitions() {
        let rating = |value| Rating { user: 0, item: 0, value };
        let errors = Errors::of(&[rating(1.0), rating(4.0)], |_| 1.0).expect("two");
        assert!((errors.rmse - 4.5_f64.sqrt()).abs() < 1e-12);
        assert!((errors.mae - 1.5).abs() < 1e-12);
        assert_eq!(Errors::of(&[], |_| 1.0), None);
    }
}
