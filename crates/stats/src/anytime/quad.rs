//! Four blocks, two of each system, in an order that a coin decides.

use std::fmt;
use tailwater_core::Rng;

/// One of the two systems that are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arm {
    /// What is there already.
    A,
    /// What is tried.
    B,
}

/// The order of a quad's blocks. A linear drift moves both arms of either order alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QuadOrder {
    /// A, B, B, A.
    Abba,
    /// B, A, A, B.
    Baab,
}

impl QuadOrder {
    /// Which system runs in each block.
    #[must_use]
    pub const fn arms(self) -> [Arm; 4] {
        match self {
            Self::Abba => [Arm::A, Arm::B, Arm::B, Arm::A],
            Self::Baab => [Arm::B, Arm::A, Arm::A, Arm::B],
        }
    }
}

/// Orders by chance, one for each quad.
///
/// The coin is what the tests rest on. Where the systems do not differ, exchanging their names only turns the sign of
/// a quad's effect. Given all that came before, the effect is then as likely positive as negative, whatever its
/// tails, and however blocks depend on one another.
#[derive(Clone, Debug)]
pub struct Coin(Rng);

impl Coin {
    /// A coin whose throws the generator decides; the generator must not decide anything else.
    #[must_use]
    pub fn new(rng: &Rng) -> Self {
        Self(rng.split("order of quads"))
    }

    /// The order of the next quad.
    pub fn throw(&mut self) -> QuadOrder {
        if self.0.chance(0.5) { QuadOrder::Abba } else { QuadOrder::Baab }
    }
}

/// A quantity measured in four blocks, such as CPU time per request.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Quad {
    order: QuadOrder,
    blocks: [f64; 4],
}

impl Quad {
    /// The measurements in the order in which they were made.
    ///
    /// # Errors
    /// With a number that has no logarithm. Such a quad is set aside whole, by a rule fixed beforehand.
    pub fn new(order: QuadOrder, blocks: [f64; 4]) -> Result<Self, QuadError> {
        let improper = |number: &f64| !(number.is_finite() && *number > 0.0);
        match blocks.iter().position(improper) {
            Some(block) => Err(QuadError { block, number: blocks[block] }),
            None => Ok(Self { order, blocks }),
        }
    }

    /// Mean logarithm of B ÷ A: 0.01 where B has 1 % more, to first order.
    #[must_use]
    pub fn effect(&self) -> f64 {
        let signed = |(arm, block): (Arm, f64)| match arm {
            Arm::A => -block.ln(),
            Arm::B => block.ln(),
        };
        self.order.arms().into_iter().zip(self.blocks).map(signed).sum::<f64>() / 2.0
    }
}

/// Why four measurements are no quad.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct QuadError {
    /// Index of the block, from 0.
    pub block: usize,
    /// What was measured there.
    pub number: f64,
}

impl fmt::Display for QuadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "found {} in block {} of a quad, but ratios need positive finite numbers: set the whole quad aside",
            self.number,
            self.block + 1
        )
    }
}

impl std::error::Error for QuadError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effect_is_the_mean_log_ratio_of_b_to_a() {
        let [a, b] = [10.0, 11.0];
        for (order, blocks) in [(QuadOrder::Abba, [a, b, b, a]), (QuadOrder::Baab, [b, a, a, b])] {
            let effect = Quad::new(order, blocks).unwrap().effect();
            assert!((effect - 1.1_f64.ln()).abs() < 1e-12, "{order:?}: {effect}");
        }
    }

    #[test]
    fn a_steady_drift_cancels() {
        let drifting = [1.0_f64, 2.0, 3.0, 4.0].map(f64::exp);
        assert!(Quad::new(QuadOrder::Abba, drifting).unwrap().effect().abs() < 1e-12);
    }

    #[test]
    fn the_other_order_turns_the_sign_of_what_does_not_belong_to_an_arm() {
        let blocks = [3.0, 7.0, 4.0, 9.0];
        let effect = |order| Quad::new(order, blocks).unwrap().effect();
        assert_eq!(effect(QuadOrder::Abba), -effect(QuadOrder::Baab));
    }

    #[test]
    fn the_coin_is_fair_and_repeatable() {
        let throws = |seed| {
            let mut coin = Coin::new(&Rng::from_seed(seed));
            (0..10_000).map(|_| coin.throw()).collect::<Vec<_>>()
        };
        let heads = throws(1).iter().filter(|order| **order == QuadOrder::Abba).count();
        assert!((4_800..5_200).contains(&heads), "{heads} of 10,000");
        assert_eq!(throws(1), throws(1));
        assert_ne!(throws(1), throws(2));
    }

    #[test]
    fn what_has_no_logarithm_is_named() {
        let error = Quad::new(QuadOrder::Abba, [1.0, 0.0, 1.0, 1.0]).unwrap_err();
        assert_eq!(error, QuadError { block: 1, number: 0.0 });
        assert!(error.to_string().contains("block 2"), "{error}");
    }
}
