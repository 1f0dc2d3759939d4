//! Whether two systems differ by less than a margin.

use super::error::SettingError;
use super::mixture::{Level, Scale, Sums};

/// Two one-sided tests (TOST), each of which may be looked at any time.
///
/// Equivalence is claimed when both have rejected: the effect is below the margin, and above its negative. Claiming it
/// wrongly means that one of them is wrong, so the level is that of each.
///
/// The level holds where effects are symmetric about the true one given the past: where B is A times a factor in law. The
/// coin alone brings that about at an effect of zero, and a test of equivalence is wrong at effects as large as the margin.
/// Where one arm alone has a tail, it is lost: normal noise in A and log-normal in B give 9 % of wrong claims at 5 %
/// (`tests/anytime.rs`). Choose the margin with some room.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Equivalence {
    level: Level,
    scale: Scale,
    margin: f64,
    sums: Sums,
    above_ln: f64,
    below_ln: f64,
}

/// What the two tests say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Equivalent {
    /// The effect is within the margin.
    Yes,
    /// This is not shown so far.
    Open,
}

impl Equivalence {
    /// Without a quad yet. `margin` is a logarithm of a ratio: 0.01 is some 1 % on both sides.
    ///
    /// # Errors
    /// With a margin that is not positive and finite.
    pub fn new(level: Level, scale: Scale, margin: f64) -> Result<Self, SettingError> {
        if !(margin > 0.0 && margin.is_finite()) {
            let needed = "positive and finite";
            return Err(SettingError::Range { name: "margin", found: margin, needed });
        }
        Ok(Self { level, scale, margin, sums: Sums::default(), above_ln: 0.0, below_ln: 0.0 })
    }

    /// Takes the effect of the next quad.
    ///
    /// # Errors
    /// With an effect that is no finite number; nothing changes.
    pub fn push(&mut self, effect: f64) -> Result<(), SettingError> {
        if !effect.is_finite() {
            return Err(SettingError::Range { name: "effect", found: effect, needed: "finite" });
        }
        self.sums.push(effect);
        let above = self.sums.less(-self.margin).positive_ln(self.scale);
        let below = self.sums.less(self.margin).turned().positive_ln(self.scale);
        self.above_ln = self.above_ln.max(above);
        self.below_ln = self.below_ln.max(below);
        Ok(())
    }

    /// What is shown so far.
    #[must_use]
    pub fn finding(&self) -> Equivalent {
        let weaker = self.above_ln.min(self.below_ln);
        if weaker >= self.level.threshold_ln() { Equivalent::Yes } else { Equivalent::Open }
    }

    /// The smallest level at which equivalence is shown, valid at any time.
    #[must_use]
    pub fn p_value(&self) -> f64 {
        (-self.above_ln.min(self.below_ln)).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_core::Rng;

    const MARGIN: f64 = 0.01;

    /// When equivalence is claimed for effects about `centre` with steps of ±`size`, within 400 quads.
    fn claimed_at(seed: u64, centre: f64, size: f64) -> Option<u32> {
        let scale = Scale::from_pilot(&[size, -size]).unwrap();
        let mut tests = Equivalence::new(Level::FIVE_PERCENT, scale, MARGIN).unwrap();
        let mut rng = Rng::from_seed(seed);
        (1..=400).find(|_| {
            tests.push(centre + if rng.chance(0.5) { size } else { -size }).unwrap();
            tests.finding() == Equivalent::Yes
        })
    }

    #[test]
    fn systems_that_are_alike_are_found_so() {
        let found = (0..200).filter_map(|seed| claimed_at(seed, 0.0, 0.01)).count();
        assert!(found >= 195, "{found} of 200");
    }

    #[test]
    fn a_difference_as_large_as_the_margin_is_seldom_called_none() {
        for centre in [MARGIN, -MARGIN, 2.0 * MARGIN] {
            let wrong = (0..1_000).filter_map(|seed| claimed_at(seed, centre, 0.01)).count();
            assert!(wrong <= 50, "{wrong} of 1,000 at {centre}");
        }
    }

    #[test]
    fn much_noise_leaves_it_open() {
        assert_eq!(claimed_at(1, 0.0, 0.5), None);
        let mut tests =
            Equivalence::new(Level::FIVE_PERCENT, Scale::new(1.0).unwrap(), MARGIN).unwrap();
        tests.push(0.0).unwrap();
        assert_eq!(tests.finding(), Equivalent::Open);
        assert!(tests.p_value() > 0.9, "{}", tests.p_value());
    }
}
