//! Mixtures of exponential martingales: evidence that may be looked at after every observation.

use super::error::SettingError;
use libm::erfc;
use std::f64::consts::SQRT_2;

/// How often a test may be wrong, over all of its looks together.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Level(f64);

impl Level {
    /// One in twenty.
    pub const FIVE_PERCENT: Self = Self(0.05);

    /// A share between 0 and 1, both excluded.
    ///
    /// # Errors
    /// With any other number.
    pub fn new(alpha: f64) -> Result<Self, SettingError> {
        let needed = "above 0 and below 1";
        let found = || SettingError::Range { name: "level", found: alpha, needed };
        (alpha > 0.0 && alpha < 1.0).then_some(Self(alpha)).ok_or_else(found)
    }

    /// What each of so many hypotheses may have, that all together have this (Bonferroni). None count as one. A share below
    /// 2⁻¹⁰⁷⁴, which has no number, is that.
    #[must_use]
    pub fn divided(self, among: usize) -> Self {
        Self((self.0 / among.max(1) as f64).max(f64::from_bits(1)))
    }

    /// Quads without which nothing is ever found at this level, whatever they show: 10 at 5 %.
    ///
    /// After n quads evidence is √(ρ/(V + ρ))·exp(S²/(2(V + ρ))), and S² is nV at most. That is largest where V is
    /// (n − 1)ρ: exp((n − 1)/2)/√n.
    #[must_use]
    pub fn quads_min(self) -> u32 {
        let most_ln = |quads: u32| (f64::from(quads) - 1.0) / 2.0 - f64::from(quads).ln() / 2.0;
        // The level is 2⁻¹⁰⁷⁴ at least, so fewer than 2,000 suffice.
        (1..2_000).find(|quads| most_ln(*quads) >= self.threshold_ln()).unwrap_or(2_000)
    }

    /// Quads without which there is no interval at this level: 16 at 5 %.
    ///
    /// An effect that lies beyond all that was seen has turned up the same sign in every quad. With n quads this
    /// happens once in 2ⁿ⁻¹. Such effects are left out from the n on for which that is a thousandth of the level. The
    /// interval's level is larger by that thousandth at most. Evidence alone would never reject effects that are far
    /// enough away: they make V large.
    #[must_use]
    pub fn quads_for_interval(self) -> u32 {
        // The level is 2⁻¹⁰⁷⁴ at least.
        1 + (1_000.0 / self.0).log2().min(2_000.0).ceil() as u32
    }

    /// The share.
    #[must_use]
    pub const fn alpha(self) -> f64 {
        self.0
    }

    /// Evidence from which on a hypothesis is rejected, as a logarithm (Ville's inequality).
    pub(super) fn threshold_ln(self) -> f64 {
        -self.0.ln()
    }
}

/// Where a mixture is most sensitive, as a sum of squared effects: ρ. Any value keeps the level; a good one decides
/// sooner.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Scale(f64);

impl Scale {
    /// At 5 % a sequence is tightest where V is 7.9 ρ (Howard et al. 2021, §3.2): with ten times a quad's variance
    /// after some eighty quads.
    const PILOT_QUADS: f64 = 10.0;

    /// A positive number, in squared units of the effect.
    ///
    /// # Errors
    /// With any other number.
    pub fn new(rho: f64) -> Result<Self, SettingError> {
        let needed = "positive and finite";
        let found = || SettingError::Range { name: "scale", found: rho, needed };
        (rho > 0.0 && rho.is_finite()).then_some(Self(rho)).ok_or_else(found)
    }

    /// From the effects of quads in which both arms were the same system. These must not be tested with it.
    ///
    /// # Errors
    /// When there are none, one is no finite number, or none differs from zero: then the pilot measured nothing.
    pub fn from_pilot(effects: &[f64]) -> Result<Self, SettingError> {
        if let Some(found) = effects.iter().find(|effect| !effect.is_finite()) {
            let (name, found) = ("an effect of the pilot", *found);
            return Err(SettingError::Range { name, found, needed: "finite" });
        }
        let squares: f64 = effects.iter().map(|effect| effect * effect).sum();
        let rho = Self::PILOT_QUADS * squares / effects.len() as f64;
        let silent = |_| SettingError::Pilot { quads: effects.len() };
        Self::new(rho).map_err(silent)
    }

    /// ρ.
    #[must_use]
    pub const fn rho(self) -> f64 {
        self.0
    }
}

/// Sums over effects, as evidence reads them.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Sums {
    pub(super) count: u32,
    pub(super) sum: f64,
    pub(super) squares: f64,
}

impl Sums {
    pub(super) fn push(&mut self, effect: f64) {
        self.count += 1;
        self.sum += effect;
        self.squares += effect * effect;
    }

    /// The sums of effects less `shift`.
    pub(super) fn less(self, shift: f64) -> Self {
        let count = f64::from(self.count);
        let squares = self.squares - 2.0 * shift * self.sum + count * shift * shift;
        Self { sum: self.sum - count * shift, squares: squares.max(0.0), ..self }
    }

    /// The same effects with the other sign.
    pub(super) fn turned(self) -> Self {
        Self { sum: -self.sum, ..self }
    }

    /// ln of √(ρ/(V+ρ))·exp(S²/(2(V+ρ))): exp(λS − λ²V/2) mixed over normal λ of variance 1/ρ.
    ///
    /// At most one in expectation at any stopping time, for effects that are symmetric about zero given the past (de
    /// la Peña 1999, Lemma 6.1; the mixture: Howard et al. 2021, Proposition 5).
    pub(super) fn two_sided_ln(self, scale: Scale) -> f64 {
        let (rho, total) = (scale.0, self.squares + scale.0);
        0.5 * (rho / total).ln() + self.sum * self.sum / (2.0 * total)
    }

    /// The same mixed over positive λ: evidence that effects are greater than zero (Howard et al. 2021, §3.2,
    /// one-sided). It holds against every law whose effects are symmetric about a number of at most zero.
    pub(super) fn positive_ln(self, scale: Scale) -> f64 {
        let total = self.squares + scale.0;
        // Twice the normal distribution function.
        self.two_sided_ln(scale) + erfc(-self.sum / (total.sqrt() * SQRT_2)).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_divided_among_hypotheses_and_never_nothing() {
        let level = |alpha| Level::new(alpha).unwrap();
        let of = |alpha, among| level(alpha).divided(among).alpha();
        assert_eq!([0, 1, 2, 5].map(|among| of(0.05, among)), [0.05, 0.05, 0.025, 0.01]);
        let least = f64::from_bits(1);
        assert_eq!((of(least, 1), of(least, 7)), (least, least));
    }

    /// The mixture's integral by the trapezoidal rule, from λ = `from` on.
    fn integral(sums: Sums, rho: f64, from: f64) -> f64 {
        let (steps, end) = (400_000, 40.0 / rho.sqrt());
        let width = (end - from) / f64::from(steps);
        let density = |lambda: f64| {
            let mixed = (-lambda * lambda * rho / 2.0).exp() * (rho / std::f64::consts::TAU).sqrt();
            mixed * (lambda * sums.sum - lambda * lambda * sums.squares / 2.0).exp()
        };
        (0..=steps).map(|i| density(from + f64::from(i) * width)).sum::<f64>() * width
    }

    #[test]
    fn evidence_is_the_integral_that_it_stands_for() {
        for (sum, squares, rho) in [(3.0, 4.0, 1.0), (-2.0, 9.0, 0.5), (0.0, 1.0, 10.0)] {
            let sums = Sums { count: 9, sum, squares };
            let scale = Scale::new(rho).unwrap();
            let both = integral(sums, rho, -40.0 / rho.sqrt());
            assert!((sums.two_sided_ln(scale).exp() / both - 1.0).abs() < 1e-4, "{sums:?}");
            let positive = 2.0 * integral(sums, rho, 0.0);
            assert!((sums.positive_ln(scale).exp() / positive - 1.0).abs() < 1e-3, "{sums:?}");
        }
    }

    #[test]
    fn evidence_is_that_of_the_authors_package() {
        // normal_log_mixture of confseq 0.0.11 (PyPI): S, V, ρ, two-sided, one-sided.
        for (sum, squares, rho, both, positive) in [
            (3.0, 4.0, 1.0, 0.095_281_043_782_949_88, 0.694_275_502_242_434_8),
            (-2.0, 9.0, 0.5, -1.261_693_173_793_746_7, -1.922_543_036_540_988_8),
            (12.0, 30.0, 10.0, 1.106_852_819_440_054_9, 1.770_684_688_983_408_5),
            (0.5, 0.02, 0.025, 2.483_884_445_326_718_4, 3.167_777_879_008_215),
        ] {
            let (sums, scale) = (Sums { count: 9, sum, squares }, Scale::new(rho).unwrap());
            assert!((sums.two_sided_ln(scale) - both).abs() < 1e-12, "{sums:?}");
            assert!((sums.positive_ln(scale) - positive).abs() < 1e-12, "{sums:?}");
        }
        // normal_mixture_bound at 5 %: the S at which V and ρ reject.
        for (squares, rho, sum) in [
            (4.0, 1.0, 6.164_779_987_778_186),
            (30.0, 10.0, 17.178_776_333_869_504),
            (0.5, 0.1, 2.161_003_102_682_091),
        ] {
            let (sums, scale) = (Sums { count: 9, sum, squares }, Scale::new(rho).unwrap());
            let threshold = Level::FIVE_PERCENT.threshold_ln();
            assert!((sums.two_sided_ln(scale) - threshold).abs() < 1e-9, "{sums:?}");
        }
    }

    #[test]
    fn fewer_quads_than_the_least_find_nothing_whatever_they_show() {
        for (alpha, quads) in [(0.05, 10), (0.01, 13), (0.5, 4)] {
            let level = Level::new(alpha).unwrap();
            assert_eq!(level.quads_min(), quads, "{alpha}");
            let strongest = |count: u32| {
                let all = (-60..=60).map(|step| f64::from(step) / 10.0).map(|ln| {
                    // All effects alike: S² = nV.
                    let squares = ln.exp();
                    let sum = (f64::from(count) * squares).sqrt();
                    Sums { count, sum, squares }.two_sided_ln(Scale(1.0))
                });
                all.fold(f64::NEG_INFINITY, f64::max)
            };
            assert!(strongest(quads) >= level.threshold_ln());
            assert!(strongest(quads - 1) < level.threshold_ln());
        }
        assert!(Level::new(f64::from_bits(1)).unwrap().quads_min() < 2_000);
    }

    #[test]
    fn an_interval_takes_more_quads_at_a_smaller_level() {
        for (alpha, quads) in [(0.05, 16), (0.025, 17), (0.01, 18), (f64::from_bits(1), 2_001)] {
            assert_eq!(Level::new(alpha).unwrap().quads_for_interval(), quads, "{alpha}");
        }
    }

    #[test]
    fn sums_of_shifted_effects_are_those_of_the_shifted() {
        let effects = [0.3, -0.1, 0.25, 0.07];
        let (mut plain, mut shifted) = (Sums::default(), Sums::default());
        effects.iter().for_each(|effect| plain.push(*effect));
        effects.iter().for_each(|effect| shifted.push(effect - 0.2));
        let less = plain.less(0.2);
        assert!((less.sum - shifted.sum).abs() < 1e-12, "{less:?}");
        assert!((less.squares - shifted.squares).abs() < 1e-12, "{less:?}");
    }

    #[test]
    fn settings_out_of_range_are_refused_with_the_range() {
        assert!(Level::new(0.0).unwrap_err().to_string().contains("above 0 and below 1"));
        assert!(Level::new(f64::NAN).is_err());
        for (pilot, parts) in [
            (&[][..], ["pilot has no quad", "A/A quads"]),
            (&[0.0, 0.0], ["2 quads of the pilot are without any noise", "finer"]),
            (&[0.1, f64::INFINITY], ["an effect of the pilot is inf", "finite"]),
        ] {
            let told = Scale::from_pilot(pilot).unwrap_err().to_string();
            assert!(parts.iter().all(|part| told.contains(part)), "{told}");
        }
        assert!((Scale::from_pilot(&[0.1, -0.1]).unwrap().rho() - 0.1).abs() < 1e-12);
    }
}
