//! Whether, and by how much, two systems differ.

use super::error::SettingError;
use super::mixture::{Level, Scale, Sums};

/// Evidence on the effects of quads, valid after each of them.
///
/// That the systems differ ([`Sequence::finding`], [`Sequence::p_value`]) is said at its level whatever the noise: where they
/// do not differ, the coin makes effects symmetric about zero given the past. No independence, no normal law and no fixed
/// number of quads is assumed.
///
/// By how much ([`Sequence::interval`], and [`Sequence::evidence`] against a shift other than zero) assumes more, which no
/// coin brings about: that effects are symmetric about the true one given the past. They are where B is A times a factor
/// in law, so that B's blocks would be A's had they been divided by it. Where one arm alone has a tail, effects lean to one
/// side, and the level of the interval is not that of their mean. `tests/anytime.rs` has such a case: normal A, log-normal B.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sequence {
    level: Level,
    scale: Scale,
    sums: Sums,
    least: f64,
    most: f64,
    strongest_ln: f64,
    finding: Finding,
}

/// What a sequence says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Finding {
    /// B has less.
    Less,
    /// B has more.
    More,
    /// Neither is shown so far. This is no proof that they are equal.
    Open,
}

impl Sequence {
    /// Without a quad yet.
    #[must_use]
    pub const fn new(level: Level, scale: Scale) -> Self {
        let sums = Sums { count: 0, sum: 0.0, squares: 0.0 };
        Self {
            level,
            scale,
            sums,
            least: f64::INFINITY,
            most: f64::NEG_INFINITY,
            strongest_ln: 0.0,
            finding: Finding::Open,
        }
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
        self.least = self.least.min(effect);
        self.most = self.most.max(effect);
        self.strongest_ln = self.strongest_ln.max(self.sums.two_sided_ln(self.scale));
        if self.finding == Finding::Open && self.strongest_ln >= self.level.threshold_ln() {
            self.finding = if self.sums.sum < 0.0 { Finding::Less } else { Finding::More };
        }
        Ok(())
    }

    /// Quads so far.
    #[must_use]
    pub const fn quads(&self) -> u32 {
        self.sums.count
    }

    /// Mean effect so far; zero before the first quad.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.sums.sum / f64::from(self.sums.count.max(1))
    }

    /// Evidence now against effects symmetric about `shift`: above 1 speaks against it.
    #[must_use]
    pub fn evidence(&self, shift: f64) -> f64 {
        self.sums.less(shift).two_sided_ln(self.scale).exp()
    }

    /// What is shown, at this look or an earlier one: a sequence does not take back what it has found.
    #[must_use]
    pub const fn finding(&self) -> Finding {
        self.finding
    }

    /// The smallest level at which a difference is shown, valid at any time.
    #[must_use]
    pub fn p_value(&self) -> f64 {
        (-self.strongest_ln).exp()
    }

    /// The effects that are not rejected now; `None` while that may be any.
    ///
    /// The lowest and the highest are given. Before [`Level::quads_for_interval`] quads there is none.
    #[must_use]
    pub fn interval(&self) -> Option<(f64, f64)> {
        if self.quads() < self.level.quads_for_interval() {
            return None;
        }
        let reach = self.reach();
        let mean = self.mean();
        Some(((mean - reach).max(self.least), (mean + reach).min(self.most)))
    }

    /// How far from the mean effects are not rejected, among those that were seen.
    ///
    /// Between the lowest and the highest effect, evidence grows with the distance u from the mean: n·u² stays below
    /// (n − 1)·(Q + ρ), where it is largest (Q: sum of squares about the mean).
    fn reach(&self) -> f64 {
        let mean = self.mean();
        let is_rejected = |distance: f64| {
            self.sums.less(mean + distance).two_sided_ln(self.scale) >= self.level.threshold_ln()
        };
        let (mut kept, mut beyond) = (0.0, (self.most - mean).max(mean - self.least));
        if !is_rejected(beyond) {
            return beyond;
        }
        // Halved until no number lies between.
        for _ in 0..100 {
            let middle = f64::midpoint(kept, beyond);
            if is_rejected(middle) {
                beyond = middle;
            } else {
                kept = middle;
            }
        }
        beyond
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailwater_core::Rng;

    fn sequence(effects: &[f64]) -> Sequence {
        let mut sequence = Sequence::new(Level::FIVE_PERCENT, Scale::new(0.1).unwrap());
        effects.iter().for_each(|effect| sequence.push(*effect).unwrap());
        sequence
    }

    /// Symmetric about `centre`, and anything but normal.
    fn effects(seed: u64, centre: f64, count: usize) -> Vec<f64> {
        let mut rng = Rng::from_seed(seed);
        let mut effect = || {
            let size = rng.exponential(0.1);
            centre + if rng.chance(0.5) { size } else { -size }
        };
        (0..count).map(|_| effect()).collect()
    }

    #[test]
    fn a_worked_example() {
        // S = 1.2, V = 0.4, ρ = 0.1: √(0.1/0.5)·e^{1.44/1}.
        let found = sequence(&[0.4, 0.4, 0.2, 0.2]);
        let expected = (0.1_f64 / 0.5).sqrt() * 1.44_f64.exp();
        assert!((found.evidence(0.0) - expected).abs() < 1e-12);
        assert!((found.p_value() - 1.0 / expected).abs() < 1e-12);
        assert_eq!((found.finding(), found.interval()), (Finding::Open, None));
    }

    #[test]
    fn what_was_found_stays_found() {
        let more = sequence(&[0.3; 20]);
        assert_eq!(more.finding(), Finding::More);
        let less = sequence(&[-0.3; 20]);
        assert_eq!(less.finding(), Finding::Less);
        let mut later = more;
        (0..40).for_each(|_| later.push(-0.3).unwrap());
        assert!(later.p_value() <= more.p_value());
        assert_eq!(later.finding(), Finding::More);
    }

    #[test]
    fn the_interval_is_what_evidence_does_not_reject() {
        let found = sequence(&effects(4, 0.05, 60));
        let (low, high) = found.interval().unwrap();
        for step in -400_i32..=400 {
            let shift = f64::from(step) / 1_000.0;
            let kept = found.evidence(shift) < 20.0;
            assert_eq!(kept, (low..=high).contains(&shift), "shift {shift} in [{low}, {high}]");
        }
    }

    #[test]
    fn intervals_at_every_look_together_hold_the_effect_as_often_as_they_say() {
        let misses = (0..1_000).filter(|seed| {
            let mut running = sequence(&[]);
            effects(*seed, 0.03, 100).iter().any(|effect| {
                running.push(*effect).unwrap();
                running.interval().is_some_and(|(low, high)| 0.03 < low || 0.03 > high)
            })
        });
        let misses = misses.count();
        assert!(misses <= 50, "{misses} of 1,000 sequences miss the effect at some look");
    }

    #[test]
    fn an_interval_is_never_wider_than_what_was_seen() {
        let found = sequence(&effects(9, 0.0, 16));
        let (low, high) = found.interval().unwrap();
        assert!(low >= found.least && high <= found.most, "{found:?}");
        assert_eq!(sequence(&effects(9, 0.0, 15)).interval(), None);
    }

    #[test]
    fn no_number_that_is_none_is_taken() {
        let mut found = sequence(&[0.1]);
        let before = found;
        assert!(found.push(f64::NAN).is_err());
        assert_eq!(found, before);
    }
}
