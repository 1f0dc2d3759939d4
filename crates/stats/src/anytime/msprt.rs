//! The mixture sequential probability ratio test of other tools, for comparison.

use super::error::SettingError;
use super::mixture::Level;

/// mSPRT for normal effects whose variance is known (Johari et al. 2017; Robbins 1970).
///
/// Tools that have an anytime-valid test have this one. Its level holds where effects are normal, independent, and of
/// the variance that was said. Where these fail, [`Sequence`](super::Sequence) still holds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Msprt {
    level: Level,
    variance: f64,
    mixed: f64,
    count: u32,
    sum: f64,
    strongest_ln: f64,
}

impl Msprt {
    /// `variance` is σ², that of an effect; `mixed` is τ², the variance of the effects that are expected.
    ///
    /// # Errors
    /// With a variance that is not positive and finite.
    pub fn new(level: Level, variance: f64, mixed: f64) -> Result<Self, SettingError> {
        for (name, found) in [("variance", variance), ("variance of the mixture", mixed)] {
            if !(found > 0.0 && found.is_finite()) {
                return Err(SettingError::Range { name, found, needed: "positive and finite" });
            }
        }
        Ok(Self { level, variance, mixed, count: 0, sum: 0.0, strongest_ln: 0.0 })
    }

    /// Takes the next effect.
    ///
    /// # Errors
    /// With an effect that is no finite number; nothing changes.
    pub fn push(&mut self, effect: f64) -> Result<(), SettingError> {
        if !effect.is_finite() {
            return Err(SettingError::Range { name: "effect", found: effect, needed: "finite" });
        }
        self.count += 1;
        self.sum += effect;
        self.strongest_ln = self.strongest_ln.max(self.ratio_ln());
        Ok(())
    }

    /// ln Λ = ½ ln(σ²/(σ² + nτ²)) + n²τ²x̄²/(2σ²(σ² + nτ²)).
    fn ratio_ln(&self) -> f64 {
        let total = self.variance + f64::from(self.count) * self.mixed;
        0.5 * (self.variance / total).ln()
            + self.mixed * self.sum * self.sum / (2.0 * self.variance * total)
    }

    /// Whether a difference is shown, at this look or an earlier one.
    #[must_use]
    pub fn differs(&self) -> bool {
        self.strongest_ln >= self.level.threshold_ln()
    }

    /// The smallest level at which it is.
    #[must_use]
    pub fn p_value(&self) -> f64 {
        (-self.strongest_ln).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worked_example() {
        // σ² = 1, τ² = 0.5, n = 4, mean 1.5: total 3; Λ = √(1/3)·e^{16·0.5·2.25/(2·3)} = √(1/3)·e³.
        let mut test = Msprt::new(Level::FIVE_PERCENT, 1.0, 0.5).unwrap();
        [1.0, 1.0, 2.0, 2.0].into_iter().for_each(|effect| test.push(effect).unwrap());
        let expected = (1.0_f64 / 3.0).sqrt() * 3.0_f64.exp();
        assert!((test.p_value() - 1.0 / expected).abs() < 1e-12, "{}", test.p_value());
        assert!(!test.differs());
        test.push(2.0).unwrap();
        assert!(test.differs());
    }

    #[test]
    fn no_number_that_is_none_is_taken() {
        let mut test = Msprt::new(Level::FIVE_PERCENT, 1.0, 0.5).unwrap();
        let before = test;
        assert!(test.push(f64::NAN).is_err() && test.push(f64::INFINITY).is_err());
        assert_eq!(test, before);
    }

    #[test]
    fn a_variance_that_is_none_is_refused() {
        assert!(Msprt::new(Level::FIVE_PERCENT, 0.0, 1.0).is_err());
        assert!(Msprt::new(Level::FIVE_PERCENT, 1.0, f64::NAN).is_err());
    }
}
