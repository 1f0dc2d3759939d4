//! Whether a system is worse than another by more than is tolerated.

use super::error::SettingError;
use super::mixture::{Level, Scale, Sums};

/// A one-sided test that may be looked at any time: it is raised when effects are shown to be larger than tolerated.
///
/// It guards a comparison. Raising it wrongly, at any of its looks, happens as often as the level says at most. Where the
/// systems do not differ the coin alone brings that about. Where B is worse by what is tolerated, effects must be symmetric
/// about the true one given the past, as for [`Equivalence`](super::Equivalence).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Alarm {
    level: Level,
    scale: Scale,
    tolerated: f64,
    sums: Sums,
    strongest_ln: f64,
}

impl Alarm {
    /// Without a quad yet. `tolerated` is a logarithm of a ratio: with 0.05, some 5 % more raise no alarm.
    ///
    /// # Errors
    /// With a tolerance that is negative or not finite.
    pub fn new(level: Level, scale: Scale, tolerated: f64) -> Result<Self, SettingError> {
        if !(tolerated >= 0.0 && tolerated.is_finite()) {
            return Err(SettingError::Range {
                name: "tolerated",
                found: tolerated,
                needed: "of at least 0, and finite,",
            });
        }
        Ok(Self { level, scale, tolerated, sums: Sums::default(), strongest_ln: 0.0 })
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
        let now = self.sums.less(self.tolerated).positive_ln(self.scale);
        self.strongest_ln = self.strongest_ln.max(now);
        Ok(())
    }

    /// Whether more than is tolerated was shown, at this look or an earlier one.
    #[must_use]
    pub fn is_raised(&self) -> bool {
        self.strongest_ln >= self.level.threshold_ln()
    }

    /// The smallest level at which it is raised, valid at any time.
    #[must_use]
    pub fn p_value(&self) -> f64 {
        (-self.strongest_ln).exp()
    }

    /// Mean effect so far; zero before the first quad.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.sums.sum / f64::from(self.sums.count.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_core::Rng;

    /// When it is raised for effects about `centre` with steps of ±0.02 and a tolerance of 0.05, within 200 quads.
    fn raised_at(seed: u64, centre: f64) -> Option<u32> {
        let scale = Scale::from_pilot(&[0.02, -0.02]).unwrap();
        let mut alarm = Alarm::new(Level::FIVE_PERCENT, scale, 0.05).unwrap();
        let mut rng = Rng::from_seed(seed);
        (1..=200).find(|_| {
            alarm.push(centre + if rng.chance(0.5) { 0.02 } else { -0.02 }).unwrap();
            alarm.is_raised()
        })
    }

    #[test]
    fn what_is_tolerated_seldom_raises_it() {
        for centre in [0.05, 0.0, -1.0] {
            let wrong = (0..1_000).filter_map(|seed| raised_at(seed, centre)).count();
            assert!(wrong <= 50, "{wrong} of 1,000 at {centre}");
        }
    }

    #[test]
    fn what_is_not_tolerated_raises_it_soon() {
        let mut times: Vec<u32> = (0..200).filter_map(|seed| raised_at(seed, 0.08)).collect();
        times.sort_unstable();
        assert_eq!(times.len(), 200);
        assert!(times[100] <= 15, "median {}", times[100]);
    }

    #[test]
    fn a_raised_alarm_stays_raised() {
        let mut alarm = Alarm::new(Level::FIVE_PERCENT, Scale::new(0.01).unwrap(), 0.0).unwrap();
        (0..20).for_each(|_| alarm.push(0.2).unwrap());
        assert!(alarm.is_raised());
        (0..50).for_each(|_| alarm.push(-0.2).unwrap());
        assert!(alarm.is_raised() && alarm.mean() < 0.0);
    }

    #[test]
    fn no_tolerance_below_zero_and_no_number_that_is_none_is_taken() {
        let scale = Scale::new(1.0).unwrap();
        assert!(Alarm::new(Level::FIVE_PERCENT, scale, -0.1).is_err());
        let mut alarm = Alarm::new(Level::FIVE_PERCENT, scale, 0.0).unwrap();
        assert!(alarm.push(f64::NAN).is_err());
        assert_eq!(alarm, Alarm::new(Level::FIVE_PERCENT, scale, 0.0).unwrap());
    }
}
