//! What four blocks say, by the rules alone.

use super::rules::{ComparisonRules, NoiseRule};
use serde::Serialize;
use tailwater_stats::anytime::{Arm, Quad, QuadOrder};

/// What was measured in one block.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Block {
    /// The quantity that is compared.
    pub metric: f64,
    /// One reading for each guard, in the rules' order.
    pub guards: Vec<f64>,
    /// One reading for each noise rule, in the rules' order.
    pub noise: Vec<f64>,
    /// Why the block cannot count by its own account, where it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invalid: Option<String>,
    /// How many before it were void, and made again. What its setting spoils so must not make it look better.
    pub void: u32,
}

/// A quad as it went into a comparison.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct MeasuredQuad {
    /// `ABBA` or `BAAB`.
    pub order: &'static str,
    /// In the order in which they were measured.
    pub blocks: [Block; 4],
    /// Mean logarithm of B ÷ A; none where the quad is set aside.
    pub effect: Option<f64>,
    /// The same of each guard.
    pub guards: Vec<f64>,
    /// Logarithm of B's blocks that cannot count ÷ those of A, with one added to both. A block cannot count by its own
    /// account, by a noise rule, or where its quantity has no logarithm. Those that were void and made again are such blocks.
    pub invalid: f64,
    /// Why it is set aside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set_aside: Option<String>,
}

impl MeasuredQuad {
    /// Judges four blocks.
    pub(super) fn new(rules: &ComparisonRules, order: QuadOrder, blocks: [Block; 4]) -> Self {
        let quad = Quad::new(order, [0, 1, 2, 3].map(|at: usize| blocks[at].metric));
        let set_aside = noisy(rules, &blocks).or_else(|| quad.err().map(|error| error.to_string()));
        let effect = quad.ok().map(|quad| quad.effect()).filter(|_| set_aside.is_none());
        let guards = rules.guards.iter().enumerate();
        let guards = guards.map(|(at, guard)| {
            let reading = |block: &Block| block.guards.get(at).map(|value| value.max(0.0));
            let reading = |block: &Block| (reading(block).unwrap_or(0.0) + guard.floor).ln();
            let effect = contrast(order, &blocks, reading) / 2.0;
            // A reading that is no number is the target's fault, and no reason for an alarm.
            if effect.is_finite() { effect } else { 0.0 }
        });
        let guards = guards.collect();
        let invalid = |wanted: Arm| {
            let arms = order.arms().into_iter().zip(&blocks);
            let own = arms.filter(|(arm, _)| *arm == wanted);
            own.map(|(_, block)| f64::from(block.void) + f64::from(!block.counts(rules)))
                .sum::<f64>()
        };
        let invalid = ((invalid(Arm::B) + 1.0) / (invalid(Arm::A) + 1.0)).ln();
        let order = match order {
            QuadOrder::Abba => "ABBA",
            QuadOrder::Baab => "BAAB",
        };
        Self { order, blocks, effect, guards, invalid, set_aside }
    }
}

/// Sum over B less sum over A.
fn contrast(order: QuadOrder, blocks: &[Block; 4], reading: impl Fn(&Block) -> f64) -> f64 {
    let signed = |(arm, block): (Arm, &Block)| match arm {
        Arm::A => -reading(block),
        Arm::B => reading(block),
    };
    order.arms().into_iter().zip(blocks).map(signed).sum()
}

/// Why a quad is set aside by the noise rules; the same for both arms.
fn noisy(rules: &ComparisonRules, blocks: &[Block; 4]) -> Option<String> {
    blocks.iter().enumerate().find_map(|(at, block)| {
        let number = at + 1;
        if let Some(why) = &block.invalid {
            return Some(format!("block {number} cannot count: {why}"));
        }
        beyond(rules, block).map(|(rule, reading)| {
            format!("{} of block {number} is {reading:.4}, above {}", rule.name, rule.max)
        })
    })
}

/// The first noise rule that a block does not keep, and its reading.
fn beyond<'r>(rules: &'r ComparisonRules, block: &Block) -> Option<(&'r NoiseRule, f64)> {
    let mut readings = rules.noise.iter().zip(block.noise.iter().copied());
    // A reading that is no number is noise, too.
    readings.find(|(rule, reading)| reading.is_nan() || *reading > rule.max)
}

impl Block {
    /// Whether it counts: by its own account, by the noise rules, and by a quantity that has a logarithm.
    #[must_use]
    pub fn counts(&self, rules: &ComparisonRules) -> bool {
        let has_logarithm = self.metric.is_finite() && self.metric > 0.0;
        self.invalid.is_none() && has_logarithm && beyond(rules, self).is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::super::rules::{Better, Guard};
    use super::*;
    use tailwater_stats::anytime::Level;

    fn rules() -> ComparisonRules {
        ComparisonRules {
            better: Better::Less,
            level: Level::FIVE_PERCENT,
            effect: 0.01,
            quads_max: 10,
            has_losses_measured: false,
            guards: vec![Guard { name: "errors".into(), floor: 0.001, tolerated: 0.0 }],
            noise: vec![NoiseRule { name: "steal".into(), max: 0.02 }],
        }
    }

    fn block(metric: f64) -> Block {
        Block { metric, guards: vec![0.0], noise: vec![0.0], invalid: None, void: 0 }
    }

    fn judged(blocks: [Block; 4]) -> MeasuredQuad {
        MeasuredQuad::new(&rules(), QuadOrder::Abba, blocks)
    }

    #[test]
    fn a_quiet_quad_has_its_effect() {
        let quad = judged([block(10.0), block(11.0), block(11.0), block(10.0)]);
        assert!((quad.effect.unwrap() - 1.1_f64.ln()).abs() < 1e-12);
        assert_eq!((quad.guards[0], quad.invalid, quad.set_aside), (0.0, 0.0, None));
    }

    #[test]
    fn noise_in_one_block_sets_the_whole_quad_aside_whatever_its_arm() {
        for at in 0..4 {
            let mut blocks = [10.0, 11.0, 11.0, 10.0].map(block);
            blocks[at].noise[0] = 0.03;
            let quad = judged(blocks);
            assert_eq!(quad.effect, None);
            let why = quad.set_aside.unwrap();
            assert!(why.contains(&format!("steal of block {}", at + 1)), "{why}");
        }
        let mut blocks = [10.0, 11.0, 11.0, 10.0].map(block);
        blocks[2].noise[0] = f64::NAN;
        assert_eq!(judged(blocks).effect, None);
    }

    #[test]
    fn invalid_blocks_are_counted_for_their_arm() {
        let mut blocks = [10.0, 11.0, 11.0, 10.0].map(block);
        blocks[1].invalid = Some("late".into());
        blocks[2].invalid = Some("late".into());
        let quad = judged(blocks);
        assert!((quad.invalid - 3.0_f64.ln()).abs() < 1e-12);
        assert!(quad.set_aside.unwrap().contains("block 2 cannot count: late"));
    }

    #[test]
    fn void_blocks_are_counted_for_their_arm_and_set_nothing_aside() {
        let void = |void| Block { void, ..block(11.0) };
        let quad = judged([block(10.0), void(2), void(1), block(10.0)]);
        assert!((quad.invalid - 4.0_f64.ln()).abs() < 1e-12 && quad.effect.is_some(), "{quad:?}");
        let quad = judged([void(3), block(11.0), void(1), block(11.0)]);
        assert!((quad.invalid - (2.0_f64 / 4.0).ln()).abs() < 1e-12, "{quad:?}");
    }

    #[test]
    fn blocks_that_noise_or_zeros_spoil_are_counted_for_their_arm() {
        let steal = Block { noise: vec![0.5], ..block(11.0) };
        for spoilt in [steal, block(0.0), block(-1.0), block(f64::NAN), block(f64::INFINITY)] {
            let quad = judged([block(10.0), spoilt.clone(), spoilt.clone(), block(10.0)]);
            assert!((quad.invalid - 3.0_f64.ln()).abs() < 1e-12, "{quad:?}");
            let quad = judged([spoilt.clone(), block(11.0), block(11.0), spoilt]);
            assert!((quad.invalid + 3.0_f64.ln()).abs() < 1e-12, "{quad:?}");
        }
    }

    #[test]
    fn guards_read_zeros_and_never_anything_but_numbers() {
        let mut blocks = [10.0, 11.0, 11.0, 10.0].map(block);
        blocks[1].guards[0] = 0.999;
        blocks[2].guards[0] = 0.999;
        let quad = judged(blocks.clone());
        assert!((quad.guards[0] - 1_000.0_f64.ln()).abs() < 1e-9, "{:?}", quad.guards);
        blocks[1].guards[0] = f64::NAN;
        assert!(judged(blocks).guards[0].is_finite());
    }

    #[test]
    fn what_has_no_logarithm_is_set_aside() {
        let quad = judged([block(10.0), block(0.0), block(11.0), block(10.0)]);
        assert_eq!(quad.effect, None);
        assert!(quad.set_aside.unwrap().contains("block 2"));
    }
}
