//! Two treatments compared in pairs that ran side by side, as ABBA sequences give them.

use crate::spread::Spread;
use crate::student::t_975;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How `b` stands to `a`, from pairs measured close together in time.
///
/// Works on logarithms of ratios: twice as much and half as much are equally far from equal. A machine that is slower
/// for a while moves both halves of a pair.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct PairedRatio {
    /// Geometric mean of `b ÷ a`.
    pub ratio: f64,
    /// Lower end of its 95 % interval (Student's t on the mean log ratio).
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Median of all `b` ÷ median of all `a`: far from `ratio` when a few pairs decide it.
    pub ratio_of_medians: f64,
    /// Pairs behind it.
    pub pairs: u32,
}

impl PairedRatio {
    /// Compares pairs `(a, b)` of a positive quantity.
    ///
    /// # Errors
    ///
    /// With fewer than two pairs, or a number that is not positive and finite.
    pub fn of(pairs: &[(f64, f64)]) -> Result<Self, CompareError> {
        if pairs.len() < 2 {
            return Err(CompareError::TooFew(pairs.len()));
        }
        let improper = |number: &f64| !(number.is_finite() && *number > 0.0);
        for (pair, &(a, b)) in pairs.iter().enumerate() {
            if let Some(number) = [a, b].into_iter().find(improper) {
                return Err(CompareError::Improper { pair, number });
            }
        }
        let logs: Vec<f64> = pairs.iter().map(|(a, b)| (b / a).ln()).collect();
        let count = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / count;
        let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let margin = t_975(logs.len() - 1) * (variance / count).sqrt();
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        Ok(Self {
            ratio: mean.exp(),
            low: (mean - margin).exp(),
            high: (mean + margin).exp(),
            ratio_of_medians: Spread::of(&b).median / Spread::of(&a).median,
            pairs: pairs.len() as u32,
        })
    }
}

/// Why pairs cannot be compared.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum CompareError {
    /// Fewer than two pairs have no spread.
    TooFew(usize),
    /// A number without a logarithm.
    Improper {
        /// Index of its pair.
        pair: usize,
        /// The number.
        number: f64,
    },
}

impl fmt::Display for CompareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFew(found) => {
                write!(f, "found {found} pairs, but an interval needs two or more: repeat the runs")
            }
            Self::Improper { pair, number } => write!(
                f,
                "found {number} in pair {pair}, but ratios need positive finite numbers: \
                 leave out runs that measured nothing"
            ),
        }
    }
}

impl std::error::Error for CompareError {}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_core::Rng;

    #[test]
    fn a_worked_example() {
        // Ratios e^0.1, e^0.2, e^0.3: mean 0.2, deviation 0.1, t(2) = 4.3027, error 0.1/√3.
        let pairs = [(1.0, 0.1_f64.exp()), (2.0, 2.0 * 0.2_f64.exp()), (4.0, 4.0 * 0.3_f64.exp())];
        let found = PairedRatio::of(&pairs).unwrap();
        let margin = 4.302_653 * 0.1 / 3.0_f64.sqrt();
        for (found, log) in
            [(found.ratio, 0.2), (found.low, 0.2 - margin), (found.high, 0.2 + margin)]
        {
            assert!((found.ln() - log).abs() < 1e-9, "{found} against e^{log}");
        }
        assert!((found.ratio_of_medians - 0.2_f64.exp()).abs() < 1e-12);
        assert_eq!(found.pairs, 3);
    }

    #[test]
    fn drift_common_to_a_pair_cancels() {
        let pairs: Vec<(f64, f64)> =
            (0..20).map(|i| (f64::from(1 << i), 1.05 * f64::from(1 << i))).collect();
        let found = PairedRatio::of(&pairs).unwrap();
        assert!((found.low - 1.05).abs() < 1e-9 && (found.high - 1.05).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn intervals_cover_as_often_as_they_say() {
        let mut rng = Rng::from_seed(6);
        // A sum of twelve uniforms is near enough to normal.
        let mut normal = || (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0;
        let covered = (0..1_000)
            .filter(|_| {
                let pairs: Vec<(f64, f64)> =
                    (0..8).map(|_| (10.0, 10.0 * (0.03 + 0.05 * normal()).exp())).collect();
                let found = PairedRatio::of(&pairs).unwrap();
                (found.low..found.high).contains(&0.03_f64.exp())
            })
            .count();
        assert!((929..=971).contains(&covered), "{covered} of 1000, seed 6");
    }

    #[test]
    fn what_cannot_be_compared_says_so() {
        assert_eq!(PairedRatio::of(&[(1.0, 1.0)]), Err(CompareError::TooFew(1)));
        let zero = PairedRatio::of(&[(1.0, 1.0), (0.0, 1.0)]).unwrap_err();
        assert_eq!(zero, CompareError::Improper { pair: 1, number: 0.0 });
        assert!(zero.to_string().contains("pair 1"), "{zero}");
    }
}
