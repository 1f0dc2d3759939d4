//! The score of a request by a small neural network: what rankings ask of a model, in whole numbers.

use super::{Hand, Kernel, Side};
use tailwater_core::Rng;

/// Features of a request at most, of a byte each.
const FEATURES: usize = 4_096;
/// Neurons of the hidden layer.
const HIDDEN: usize = 128;

/// One hidden layer that is rectified, and one output: the answer is the score itself, the same on any machine.
pub(in super::super) struct Inference {
    /// A row of weights for each neuron.
    hidden: Vec<i8>,
    output: Vec<i8>,
}

impl Inference {
    /// The same model wherever it is made.
    pub(in super::super) fn new() -> Self {
        let mut rng = Rng::from_seed(1).split("weights");
        let mut weights = |count: usize| -> Vec<i8> {
            (0..count).map(|_| (rng.below(256) as u8).cast_signed()).collect()
        };
        Self { hidden: weights(HIDDEN * FEATURES), output: weights(HIDDEN) }
    }

    fn score(&self, features: &[u8]) -> i64 {
        let rows = self.hidden.chunks_exact(FEATURES).zip(&self.output);
        rows.map(|(row, &weight)| i64::from(dot(row, features).max(0)) * i64::from(weight)).sum()
    }
}

/// No sum of so many products leaves an i32.
fn dot(weights: &[i8], features: &[u8]) -> i32 {
    let products = weights.iter().zip(features);
    products.map(|(&weight, &feature)| i32::from(weight) * i32::from(feature)).sum()
}

impl Kernel for Inference {
    fn hand(&self, _: Side) -> Hand<'_> {
        Box::new(|input| self.score(input).cast_unsigned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of two features, the second neuron's sum is below zero.
    #[test]
    fn a_score_by_hand() {
        let mut model = Inference { hidden: vec![0; HIDDEN * FEATURES], output: vec![0; HIDDEN] };
        model.hidden[..2].copy_from_slice(&[3, -1]);
        model.hidden[FEATURES..FEATURES + 2].copy_from_slice(&[-5, 1]);
        model.output[..2].copy_from_slice(&[-2, 100]);
        assert_eq!(model.score(&[200, 50]), -2 * (3 * 200 - 50));
    }

    #[test]
    fn sums_of_the_largest_features_do_not_overflow() {
        let model = Inference { hidden: vec![-128; HIDDEN * FEATURES], output: vec![-128; HIDDEN] };
        assert_eq!(model.score(&[255; FEATURES]), 0);
        let model = Inference { hidden: vec![127; HIDDEN * FEATURES], ..model };
        let sum = 127 * 255 * FEATURES as i64;
        assert_eq!(model.score(&[255; FEATURES]), sum * -128 * HIDDEN as i64);
    }
}
