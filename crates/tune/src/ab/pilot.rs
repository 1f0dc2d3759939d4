//! Quads in which both arms are the same: how noisy blocks are, and what a comparison can find.

use super::judge::{Block, MeasuredQuad};
use super::rules::{Better, ComparisonRules, Guard};
use serde::Serialize;
use tailwater_core::Rng;
use tailwater_stats::anytime::{Coin, Level, PowerPlan, QuadOrder, Scale, SettingError};

/// The share of comparisons in which the smallest effect is to be found.
const POWER: f64 = 0.8;
/// ρ of a guard whose pilot was without noise, such as counts of errors, and of the one on blocks that cannot count.
/// Their effects are about one when something is wrong: it is then found after ten quads. Any ρ keeps the level.
const GUARD_RHO: f64 = 1.0;
/// A block is far worse than the pilot's by this ratio at least. No gain that is looked for is a tenth of it.
const FAR_RATIO: f64 = 1.5;
/// It is so by as many deviations of the pilot's blocks, too: a noisy machine alone makes no block far worse.
const FAR_DEVIATIONS: f64 = 6.0;

/// A pilot that is under way or done.
#[derive(Clone, Debug)]
pub struct Pilot {
    coin: Coin,
    quads: Vec<MeasuredQuad>,
}

/// What a comparison can find, told before anything is tried.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Forecast {
    /// Quads that the comparison may have.
    pub quads: u32,
    /// Standard deviation of a quad's effect.
    pub noise: f64,
    /// The smallest effect that four comparisons of five find; `None` where none is. With fewer quads than an interval takes
    /// there is none: no gain is claimed without.
    pub smallest_effect: Option<f64>,
    /// The share of comparisons that find the effect that matters, by [`PowerPlan::expected_power`].
    pub power: f64,
    /// Quads until half of them have found it.
    pub median_quads: Option<u32>,
}

impl Pilot {
    /// Without a quad. The seed decides the orders.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let coin = Coin::new(&Rng::from_seed(seed).split("pilot"));
        Self { coin, quads: Vec::new() }
    }

    /// The order of the next quad.
    pub fn throw(&mut self) -> QuadOrder {
        self.coin.throw()
    }

    /// Takes the blocks of the next quad, and says why it is set aside, if it is.
    pub fn take(
        &mut self,
        rules: &ComparisonRules,
        order: QuadOrder,
        blocks: [Block; 4],
    ) -> Option<&str> {
        self.quads.push(MeasuredQuad::new(rules, order, blocks));
        self.quads.last().and_then(|quad| quad.set_aside.as_deref())
    }

    /// All of its quads.
    #[must_use]
    pub fn quads(&self) -> &[MeasuredQuad] {
        &self.quads
    }

    /// Effects of the quads that count.
    #[must_use]
    pub fn effects(&self) -> Vec<f64> {
        self.quads.iter().filter_map(|quad| quad.effect).collect()
    }

    /// Standard deviation of a block's logarithm, of the quads that count; zero of fewer than two blocks. Where neighbours are
    /// alike it is larger than the noise of a quad, in which they cancel.
    #[must_use]
    pub fn block_deviation(&self) -> f64 {
        self.block_logs().map_or(0.0, |(_, deviation)| deviation)
    }

    /// The logarithm of one block ÷ the pilot's, where that block is far worse: by half and by six deviations. Such a setting
    /// can wait for others. Nothing may be concluded from it, as one block has no level.
    #[must_use]
    pub fn far_worse(&self, metric: f64, better: Better) -> Option<f64> {
        let (mean, deviation) = self.block_logs()?;
        let change = metric.ln() - mean;
        let loss = if better == Better::Less { change } else { -change };
        let far = FAR_RATIO.ln().max(FAR_DEVIATIONS * deviation);
        (change.is_finite() && loss > far).then_some(change)
    }

    /// Mean and deviation of a block's logarithm, of the quads that count; none of fewer than two blocks.
    fn block_logs(&self) -> Option<(f64, f64)> {
        let counted = self.quads.iter().filter(|quad| quad.effect.is_some());
        let logs: Vec<f64> =
            counted.flat_map(|quad| &quad.blocks).map(|block| block.metric.ln()).collect();
        if logs.len() < 2 {
            return None;
        }
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let squares: f64 = logs.iter().map(|log| (log - mean) * (log - mean)).sum();
        Some((mean, (squares / (logs.len() - 1) as f64).sqrt()))
    }

    /// What a comparison of so many quads can find.
    ///
    /// # Errors
    /// When no quad counts, or none differs from another: then the pilot measured nothing.
    pub fn forecast(
        &self,
        rules: &ComparisonRules,
        quads: u32,
        seed: u64,
    ) -> Result<Forecast, SettingError> {
        let effects = self.effects();
        Scale::from_pilot(&effects)?;
        let squares: f64 = effects.iter().map(|effect| effect * effect).sum();
        let noise = (squares / effects.len() as f64).sqrt();
        if quads < rules.level.quads_for_interval() {
            return Ok(Forecast {
                quads,
                noise,
                smallest_effect: None,
                power: 0.0,
                median_quads: None,
            });
        }
        let plan = PowerPlan::new(&effects, rules.level, quads, seed)?;
        Ok(Forecast {
            quads,
            noise,
            smallest_effect: plan.smallest_effect(POWER),
            power: plan.expected_power(rules.effect),
            // A finding comes earlier, and a gain is claimed with its interval.
            median_quads: plan
                .median_quads(rules.effect)
                .map(|median| median.max(rules.level.quads_for_interval())),
        })
    }

    /// Quads in which four comparisons of five find an effect, and have its interval; none where `most` do not.
    pub(super) fn quads_to_find(
        &self,
        level: Level,
        effect: f64,
        (most, seed): (u32, u64),
    ) -> Option<u32> {
        let effects = self.effects();
        let plan = PowerPlan::new(&effects, level, most, seed).ok()?;
        let quads = plan.quads_to_find(effect, POWER)?.max(level.quads_for_interval());
        (quads <= most).then_some(quads)
    }

    /// ρ of the comparison.
    pub(super) fn scale(&self) -> Result<Scale, SettingError> {
        Scale::from_pilot(&self.effects())
    }

    /// ρ of a guard.
    pub(super) fn guard_scale(&self, at: usize, guard: &Guard) -> Result<Scale, SettingError> {
        let counted = self.quads.iter().filter(|quad| quad.set_aside.is_none());
        // As the comparison counts them: one error of the pilot is no reason to expect effects of that size.
        let effects = counted.filter_map(|quad| quad.guards.get(at));
        let effects: Vec<f64> = effects.map(|effect| guard.bounded(*effect)).collect();
        Scale::from_pilot(&effects).or_else(|_| Scale::new(GUARD_RHO))
    }

    /// ρ of the guard on blocks that cannot count.
    pub(super) fn invalid_scale() -> Result<Scale, SettingError> {
        Scale::new(GUARD_RHO)
    }
}
