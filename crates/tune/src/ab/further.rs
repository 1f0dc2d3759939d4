//! How large a further test is, where one has left something open.

use super::pilot::Forecast;
use super::rules::ComparisonRules;

/// How much more is measured where the pilot does not say what can be found.
const GUESS: f64 = 4.0;

/// What a further test needs that finds an effect in four of five cases.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Further {
    /// So many quads.
    Quads(u32),
    /// So many quads, of which the pilot did not say whether they will do.
    Guess(u32),
    /// More quads than there may be. All of these find this effect, as a logarithm of a ratio.
    TooMany(f64),
}

impl Forecast {
    /// Whether the effect that matters would hardly be found.
    #[must_use]
    pub fn is_weak(&self, rules: &ComparisonRules) -> bool {
        self.smallest_effect.is_none_or(|smallest| smallest > rules.effect)
    }

    /// A further test of an effect, as a logarithm of a ratio above zero, by the noise of this one's pilot. It has from
    /// `least` to `most` quads.
    #[must_use]
    pub fn further(&self, effect: f64, (least, most): (u32, u32)) -> Further {
        let quads = f64::from(self.quads);
        // What can be found shrinks with the root of the quads.
        let times = self.smallest_effect.map_or(GUESS, |smallest| (smallest / effect).powi(2));
        let needed = quads * times;
        let bounded = || needed.ceil().max(least.into()).min(most.into()) as u32;
        match self.smallest_effect {
            Some(smallest) if needed > f64::from(most) => {
                Further::TooMany(smallest * (quads / f64::from(most)).sqrt())
            }
            Some(_) => Further::Quads(bounded()),
            None => Further::Guess(bounded()),
        }
    }
}

impl ComparisonRules {
    /// Quads of each test of a further search, `most` at most. That is twice as many, or those without which the first of so
    /// many claims has no interval. None where these rules have had the most.
    #[must_use]
    pub fn further_quads(&self, claims: usize, most: u32) -> Option<u32> {
        let least = self.level.divided(claims).quads_for_interval();
        (self.quads_max < most).then(|| self.quads_max.saturating_mul(2).max(least).min(most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forecast(smallest_effect: Option<f64>) -> Forecast {
        Forecast { quads: 16, noise: 0.05, smallest_effect, power: 0.5, median_quads: None }
    }

    #[test]
    fn what_would_hardly_be_found_is_weak() {
        let rules = ComparisonRules::unguarded();
        let weak = [None, Some(0.02), Some(0.01), Some(0.005)];
        assert_eq!(weak.map(|of| forecast(of).is_weak(&rules)), [true, true, false, false]);
    }

    #[test]
    fn quads_grow_with_the_square_of_what_was_not_found() {
        let further = |smallest| forecast(smallest).further(0.02, (20, 1_000));
        assert_eq!(further(Some(0.06)), Further::Quads(144));
        assert_eq!(further(Some(0.02)), Further::Quads(20));
        assert_eq!(further(None), Further::Guess(64));
        // 64 times as many are too many; 1,000 find 0.16 · √(16 ÷ 1,000).
        let Further::TooMany(finds) = further(Some(0.16)) else { panic!("1,024 are too many") };
        assert!((finds - 0.020_239).abs() < 1e-6, "{finds}");
    }

    #[test]
    fn a_further_search_has_twice_the_quads_and_those_of_an_interval() {
        let of = |quads_max, claims| {
            ComparisonRules { quads_max, ..ComparisonRules::unguarded() }.further_quads(claims, 100)
        };
        let found = [of(40, 1), of(4, 1), of(4, 2), of(90, 1), of(100, 1)];
        assert_eq!(found, [Some(80), Some(16), Some(17), Some(100), None]);
    }
}
