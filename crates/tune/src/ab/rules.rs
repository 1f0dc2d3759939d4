//! What is fixed before the first block.

use serde::Serialize;
use tailwater_stats::anytime::Level;

/// The rules of a comparison.
#[derive(Clone, PartialEq, Debug)]
pub struct ComparisonRules {
    /// Which way the measured quantity shall go.
    pub better: Better,
    /// How often the comparison may find a difference that is none, over all looks.
    pub level: Level,
    /// The effect that matters, as a logarithm of a ratio. Arms that are shown to differ by less are alike.
    pub effect: f64,
    /// Quads that count, at most.
    pub quads_max: u32,
    /// Whether B is called worse with the interval of its loss only, as it is called better. Where a loss ends a test for which
    /// it does not matter how large it is, that would cost quads for nothing.
    pub has_losses_measured: bool,
    /// What must not get worse.
    pub guards: Vec<Guard>,
    /// What sets a quad aside.
    pub noise: Vec<NoiseRule>,
}

impl ComparisonRules {
    /// Quads of one of so many tests that share these: those that an interval takes at least, as long as there are any.
    /// They are [`ComparisonRules::quads_max`] at most.
    #[must_use]
    pub fn quads_of_one(&self, quads: u32, tests: usize) -> u32 {
        let least = self.level.quads_for_interval().min(quads);
        (quads / tests.max(1) as u32).max(least).min(self.quads_max)
    }
}

/// Which way is better.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Such as CPU time per request.
    Less,
    /// Such as requests per second.
    More,
}

/// A quantity of which more is worse. A comparison ends when B is shown to have more than is tolerated.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Guard {
    /// What it is.
    pub name: String,
    /// Added to each reading, so that zeros have a logarithm: readings far below it count as alike.
    pub floor: f64,
    /// How much more is tolerated, as a logarithm of a ratio.
    pub tolerated: f64,
}

impl Guard {
    /// An effect, no farther than one from what is tolerated: symmetric about that if the effect was. Readings that jump
    /// from zero to anything would make V so large that evidence comes late.
    pub(super) fn bounded(&self, effect: f64) -> f64 {
        (effect - self.tolerated).clamp(-1.0, 1.0) + self.tolerated
    }
}

/// A reading of the machine's own noise. A quad of which one block has more is set aside whole, whatever it found.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct NoiseRule {
    /// What it is.
    pub name: String,
    /// The most that counts.
    pub max: f64,
}

#[cfg(test)]
impl ComparisonRules {
    /// Less is better; no guard, no rule on noise, 60 quads.
    pub(super) const fn unguarded() -> Self {
        Self {
            better: Better::Less,
            level: Level::FIVE_PERCENT,
            effect: 0.01,
            quads_max: 60,
            has_losses_measured: false,
            guards: Vec::new(),
            noise: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_share_their_quads_and_each_has_those_of_an_interval() {
        let rules = ComparisonRules::unguarded();
        for (quads, tests, of_one) in
            [(200, 5, 40), (1_000, 5, 60), (50, 5, 16), (9, 5, 9), (0, 5, 0), (40, 0, 40)]
        {
            assert_eq!(rules.quads_of_one(quads, tests), of_one, "{quads} of {tests}");
        }
    }
}
