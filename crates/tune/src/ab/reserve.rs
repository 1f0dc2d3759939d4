//! How much time is kept for confirming while values wait for a test.

use super::comparison::Look;
use super::pilot::Pilot;
use super::quad_times::QuadTimes;
use super::rules::ComparisonRules;
use std::time::Duration;

/// What is to be confirmed on fresh blocks: what was adopted, against stock and rivals.
///
/// It is reckoned from tests alone. Blocks that confirm come later, so whatever is kept for them leaves their level as it is.
#[derive(Clone, Copy, Debug)]
pub struct Reserve<'a> {
    /// By which the noise of quads is known.
    pub pilot: &'a Pilot,
    /// Those of the claims, which share the level.
    pub rules: &'a ComparisonRules,
    /// Settings that are compared with, beside stock.
    pub rivals: usize,
    /// Decides the draws of simulated comparisons.
    pub seed: u64,
}

impl Reserve<'_> {
    /// The time that confirming takes by what is known now, `whole` at most. `adopted` has the last look of each test that
    /// B has won.
    ///
    /// Against stock it is that in which four confirmations of five find the gain. As the gain counts the effect that
    /// matters, within what tests have shown: no less than their intervals, no more than their means. Where not even the
    /// most quads do, it is those. As long as nothing was adopted, it is that of an interval. Each rival has that of
    /// an interval, too.
    #[must_use]
    pub fn time(&self, adopted: &[Look], times: &QuadTimes, whole: Duration) -> Duration {
        let rivals = self.of_interval() * self.rivals as u32;
        // One more for each: the first begins a little later than now, and only a whole quad is begun.
        let all = self.against_stock(adopted, times.fit(whole)) + rivals + self.claims() as u32;
        times.of(all).min(whole)
    }

    /// Quads of the claim against stock, of so many that there is time for. It has its part of [`Reserve::time`] first.
    #[must_use]
    pub fn against_stock(&self, adopted: &[Look], fit: u32) -> u32 {
        if adopted.is_empty() {
            return self.of_interval();
        }
        let (level, most) =
            (self.rules.level.divided(self.claims()), fit.min(self.rules.quads_max));
        self.pilot.quads_to_find(level, self.gain(adopted), (most, self.seed)).unwrap_or(most)
    }

    const fn claims(&self) -> usize {
        1 + self.rivals
    }

    fn of_interval(&self) -> u32 {
        self.rules.level.divided(self.claims()).quads_for_interval()
    }

    /// Of all that was adopted, as a logarithm of a ratio. Each test was against what had been adopted before it, so gains add.
    fn gain(&self, adopted: &[Look]) -> f64 {
        let mean: f64 = adopted.iter().map(|look| look.mean.abs()).sum();
        let least: f64 = adopted.iter().map(least_gain).sum();
        self.rules.effect.max(least).min(mean)
    }
}

/// The end of the interval that is nearer to none; zero where that is in it.
fn least_gain(look: &Look) -> f64 {
    look.interval.map_or(0.0, |(low, high)| low.max(-high).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::super::judge::Block;
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    /// Of the pilot's quads.
    const NOISE: f64 = 0.05;

    fn pilot() -> Pilot {
        let (rules, mut pilot) = (ComparisonRules::unguarded(), Pilot::new(1));
        for step in 1..=8 {
            let order = pilot.throw();
            let block = |metric| {
                let (guards, noise) = (Vec::new(), Vec::new());
                Block { metric, guards, noise, invalid: None, void: 0 }
            };
            // The effect is half of what one block has more, of either sign: 1 to 8 %, 5 % by their squares.
            let more = (0.02 * f64::from(step)).exp();
            pilot.take(&rules, order, [1.0, more, 1.0, 1.0].map(block));
        }
        pilot
    }

    /// Of so many seconds at most, what is kept beside so many rivals. A quad takes a second.
    fn kept(adopted: &[Look], rivals: usize, effect: f64, seconds: u32) -> Duration {
        let (pilot, mut times) = (pilot(), QuadTimes::new());
        times.push(SECOND);
        let rules = ComparisonRules { effect, ..ComparisonRules::unguarded() };
        let reserve = Reserve { pilot: &pilot, rules: &rules, rivals, seed: 1 };
        reserve.time(adopted, &times, SECOND * seconds)
    }

    /// A gain, and what it is at least.
    fn look(mean: f64, least: f64) -> Look {
        let interval = Some((-2.0 * mean + least, -least));
        Look { quads: 20, evidence: 100.0, p_value: 0.01, mean: -mean, interval }
    }

    #[test]
    fn as_long_as_nothing_was_adopted_each_claim_keeps_what_an_interval_takes() {
        assert_eq!(kept(&[], 0, 0.01, 200), 17 * SECOND);
        // At half of the level each, 17 quads and one more.
        assert_eq!(kept(&[], 1, 0.01, 200), 36 * SECOND);
        assert_eq!(kept(&[], 1, 0.01, 30), 30 * SECOND);
    }

    #[test]
    fn a_gain_keeps_as_many_quads_as_four_of_five_confirmations_take() {
        // Of a gain of three times the noise an interval takes longest.
        assert_eq!(kept(&[look(0.2, 3.0 * NOISE)], 0, 0.01, 200), 17 * SECOND);
        let moderate = kept(&[look(0.06, 0.8 * NOISE)], 0, 0.01, 200);
        assert!(moderate > 17 * SECOND && moderate <= 61 * SECOND, "{moderate:?}");
        // Two halves are as much as the whole.
        let half = look(0.03, 0.4 * NOISE);
        assert_eq!(kept(&[half, half], 0, 0.01, 200), moderate);
        // No more is reckoned with than was seen, however large the effect that matters is.
        assert_eq!(kept(&[look(0.8 * NOISE, 0.0)], 0, 0.5, 200), moderate);
        assert_eq!(kept(&[look(0.06, 0.0)], 0, 0.8 * NOISE, 200), moderate);
    }

    #[test]
    fn a_gain_that_is_too_small_keeps_what_the_most_quads_take_or_all_there_is() {
        assert_eq!(ComparisonRules::unguarded().quads_max, 60);
        assert_eq!(kept(&[look(0.02, 0.0)], 0, 0.01, 200), 61 * SECOND);
        assert_eq!(kept(&[look(0.02, 0.0)], 0, 0.01, 40), 40 * SECOND);
    }

    #[test]
    fn beside_rivals_the_claim_against_stock_keeps_its_quads() {
        let pilot = pilot();
        let rules = ComparisonRules::unguarded();
        let reserve = Reserve { pilot: &pilot, rules: &rules, rivals: 1, seed: 1 };
        let adopted = [look(0.06, 0.8 * NOISE)];
        let quads = reserve.against_stock(&adopted, 200);
        assert!(quads > 18 && quads <= 60, "{quads}");
        // At half of the level an interval takes 17, and each has one more.
        assert_eq!(kept(&adopted, 1, 0.01, 200), SECOND * (quads + 17 + 2));
    }

    #[test]
    fn an_interval_with_zero_in_it_shows_no_gain_at_least() {
        let of = |low, high| least_gain(&Look { interval: Some((low, high)), ..look(0.1, 0.0) });
        assert_eq!([of(-0.3, -0.1), of(0.1, 0.3), of(-0.3, 0.1)], [0.1, 0.1, 0.0]);
    }
}
