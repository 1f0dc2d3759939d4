//! What a number of quads can find, before anything is tried.

use super::error::SettingError;
use super::mixture::{Level, Scale};
use super::sequence::{Finding, Sequence};
use tailwater_core::Rng;

/// Simulated comparisons for each answer. The share found has a standard error of 1.6 points at most.
const TRIALS: u32 = 1_000;
/// Steps of halving in the search for the smallest effect: to a thousandth of its bracket.
const STEPS: u32 = 10;

/// Comparisons of at most so many quads, whose noise is that of an A/A pilot.
///
/// Each simulated quad is a quad of the pilot drawn at random, with a sign by coin, plus the effect. Nothing is assumed
/// of the noise's law; that quads are drawn independently is.
///
/// Power grows with quads, and with the effect while that is of the order of a quad's noise. It falls again for effects that
/// the pilot had no idea of: evidence of n quads approaches n/2 − ½·ln(n·x²/ρ) as the effect x grows beyond the noise. Ten
/// quads find four times the noise in six of ten comparisons, and eight times in none; forty find twenty times in all.
#[derive(Clone, Debug)]
pub struct PowerPlan<'a> {
    pilot: &'a [f64],
    level: Level,
    scale: Scale,
    quads_max: u32,
    seed: u64,
}

impl<'a> PowerPlan<'a> {
    /// For comparisons that end after `quads_max` quads, with or without a finding. `pilot` has the effects of A/A
    /// quads; `seed` decides the draws, which are the same for every effect.
    ///
    /// # Errors
    /// With a pilot that has no noise, or a number that is none; with fewer than [`Level::quads_min`] quads.
    pub fn new(
        pilot: &'a [f64],
        level: Level,
        quads_max: u32,
        seed: u64,
    ) -> Result<Self, SettingError> {
        let least = level.quads_min();
        if quads_max < least {
            return Err(SettingError::TooFew { quads: quads_max, least });
        }
        Ok(Self { pilot, level, scale: Scale::from_pilot(pilot)?, quads_max, seed })
    }

    /// ρ of the sequences, which comparisons must take too.
    #[must_use]
    pub const fn scale(&self) -> Scale {
        self.scale
    }

    /// The share of comparisons that find an effect of this size, with its sign.
    #[must_use]
    pub fn power(&self, effect: f64) -> f64 {
        let found = self.times_to_finding(effect).into_iter().flatten().count();
        found as f64 / f64::from(TRIALS)
    }

    /// The same, less what a short pilot promises too much.
    ///
    /// A pilot whose noise is too small by chance promises more, and one whose noise is too large promises less. A small power
    /// grows faster than in proportion to effect ÷ noise, so that the former is more. Pilots of as many quads are
    /// drawn anew about this one, as if noise were normal. What they promise in the mean is beyond this one's promise, about
    /// as far as that is beyond the truth. Where 25 % are found beneath normal noise, eight quads promise 39 %, and 33 % so.
    #[must_use]
    pub fn expected_power(&self, effect: f64) -> f64 {
        let mut rng = Rng::from_seed(self.seed).split("pilots drawn anew");
        let found = (0..TRIALS).filter(|_| {
            let mut trial = Rng::from_seed(rng.u64());
            let times_noise = self.noise_anew(&mut trial);
            self.time_to_finding(&mut trial, effect / times_noise).is_some()
        });
        let anew = found.count() as f64 / f64::from(TRIALS);
        (2.0 * self.power(effect) - anew).clamp(0.0, 1.0)
    }

    /// Another pilot's noise ÷ this one's. Its square follows χ² ÷ n, which is the mean of n/2 exponentials.
    fn noise_anew(&self, rng: &mut Rng) -> f64 {
        let pairs = (self.pilot.len() / 2).max(1);
        let sum: f64 = (0..pairs).map(|_| rng.exponential(1.0)).sum();
        (sum / pairs as f64).sqrt().max(f64::MIN_POSITIVE)
    }

    /// Quads until half of all comparisons have found the effect; `None` where fewer than half do.
    #[must_use]
    pub fn median_quads(&self, effect: f64) -> Option<u32> {
        self.quads_to_find(effect, 0.5)
    }

    /// Quads until this share of all comparisons have found the effect; `None` where fewer do.
    #[must_use]
    pub fn quads_to_find(&self, effect: f64, share: f64) -> Option<u32> {
        let mut times: Vec<u32> = self.times_to_finding(effect).into_iter().flatten().collect();
        times.sort_unstable();
        let found = (share * f64::from(TRIALS)).ceil() as usize;
        times.get(found.saturating_sub(1)).copied()
    }

    /// The smallest effect that is found with this probability; `None` where none up to a hundred times the noise is.
    #[must_use]
    pub fn smallest_effect(&self, power: f64) -> Option<f64> {
        let count = self.pilot.len() as f64;
        let noise = (self.pilot.iter().map(|effect| effect * effect).sum::<f64>() / count).sqrt();
        let doubled = (0..14).map(|doublings| noise / 64.0 * f64::from(1 << doublings));
        let mut found = doubled.into_iter().find(|effect| self.power(*effect) >= power)?;
        let mut missed = found / 2.0;
        for _ in 0..STEPS {
            let middle = f64::midpoint(missed, found);
            if self.power(middle) >= power {
                found = middle;
            } else {
                missed = middle;
            }
        }
        Some(found)
    }

    /// Of each trial, the quads until the effect was found with its sign.
    fn times_to_finding(&self, effect: f64) -> Vec<Option<u32>> {
        let mut rng = Rng::from_seed(self.seed).split("power");
        (0..TRIALS)
            .map(|_| {
                let mut trial = Rng::from_seed(rng.u64());
                self.time_to_finding(&mut trial, effect)
            })
            .collect()
    }

    fn time_to_finding(&self, rng: &mut Rng, effect: f64) -> Option<u32> {
        let wanted = if effect < 0.0 { Finding::Less } else { Finding::More };
        let mut sequence = Sequence::new(self.level, self.scale);
        for quad in 1..=self.quads_max {
            let noise = self.pilot[rng.below(self.pilot.len() as u32) as usize];
            let signed = if rng.chance(0.5) { noise } else { -noise };
            // A pilot's effects are finite, and so is their sum with the asked one.
            sequence.push(effect + signed).ok()?;
            match sequence.finding() {
                Finding::Open => {}
                found => return (found == wanted).then_some(quad),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Effects of a normal law with deviation 1, by their quantiles.
    const PILOT: [f64; 10] = [0.063, 0.189, 0.319, 0.454, 0.598, 0.755, 0.935, 1.150, 1.440, 1.960];

    fn plan(quads_max: u32) -> PowerPlan<'static> {
        PowerPlan::new(&PILOT, Level::FIVE_PERCENT, quads_max, 5).unwrap()
    }

    #[test]
    fn a_pilot_without_noise_plans_nothing() {
        for pilot in [&[][..], &[0.0, 0.0], &[0.1, f64::NAN]] {
            assert!(PowerPlan::new(pilot, Level::FIVE_PERCENT, 10, 1).is_err(), "{pilot:?}");
        }
    }

    #[test]
    fn quads_in_which_nothing_can_be_found_are_refused_with_how_many_it_takes() {
        let error = PowerPlan::new(&PILOT, Level::FIVE_PERCENT, 9, 1).unwrap_err();
        assert_eq!(error, SettingError::TooFew { quads: 9, least: 10 });
        assert!(error.to_string().contains("10 or more are needed"), "{error}");
    }

    /// The noise of a quad is 1.
    #[test]
    fn effects_far_beyond_the_noise_take_more_quads_than_moderate_ones() {
        let forty = plan(40);
        for effect in [2.0, 4.0, 8.0, 20.0] {
            assert!(forty.power(effect) > 0.99, "{effect}: {}", forty.power(effect));
        }
        let ten = plan(10);
        let powers = [2.0, 4.0, 8.0, 20.0].map(|effect| ten.power(effect));
        assert!((0.5..0.75).contains(&powers[1]), "{powers:?}");
        assert!(powers[2] == 0.0 && powers[3] == 0.0, "{powers:?}");
        let quads = [4.0, 20.0].map(|effect| forty.median_quads(effect).unwrap());
        assert!(quads[1] > quads[0], "{quads:?}");
    }

    #[test]
    fn power_grows_with_the_effect_and_with_quads() {
        let short = plan(40);
        let powers = [0.2, 0.4, 0.8, 1.6].map(|effect| short.power(effect));
        assert!(powers.is_sorted() && powers[0] < 0.3 && powers[3] > 0.99, "{powers:?}");
        assert!(plan(160).power(0.4) > powers[1] + 0.2);
        assert!((short.power(-0.8) - powers[2]).abs() < 0.05, "both signs alike");
    }

    #[test]
    fn without_an_effect_the_level_is_kept() {
        // Both signs together are wrong in 5 % at most, each in half of that.
        assert!(plan(200).power(0.0) <= 0.025);
        assert!(plan(200).expected_power(0.0) <= 0.05);
    }

    #[test]
    fn time_to_a_finding_is_that_of_the_note() {
        // Medians of 15, 23 and 39 quads were simulated for effects of 1.2, 0.8 and 0.5 deviations of a block; a
        // quad's effect has the deviation of a block.
        let plan = plan(200);
        for (effect, quads) in [(1.2, 15), (0.8, 23), (0.5, 39)] {
            let median = plan.median_quads(effect).unwrap();
            assert!(median.abs_diff(quads) <= quads / 4, "{median} quads at {effect}, not {quads}");
        }
    }

    #[test]
    fn so_many_quads_find_an_effect_as_often_as_asked() {
        let quads = plan(200).quads_to_find(0.8, 0.8).unwrap();
        assert!(plan(quads).power(0.8) >= 0.8 && plan(quads - 1).power(0.8) < 0.8, "{quads}");
        assert_eq!(plan(quads - 1).quads_to_find(0.8, 0.8), None);
    }

    #[test]
    fn the_smallest_effect_is_found_as_often_as_asked() {
        let sixty = plan(60);
        let effect = sixty.smallest_effect(0.8).unwrap();
        assert!(sixty.power(effect) >= 0.8 && sixty.power(effect * 0.97) < 0.8, "{effect}");
        assert_eq!(plan(10).smallest_effect(0.99), None);
    }
}
