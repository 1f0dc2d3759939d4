//! The comparison itself.

use super::judge::{Block, MeasuredQuad};
use super::pilot::Pilot;
use super::rules::{Better, ComparisonRules};
use serde::Serialize;
use tailwater_core::Rng;
use tailwater_stats::anytime::{
    Alarm, Coin, Equivalence, Equivalent, Finding, QuadOrder, Sequence, SettingError,
};

/// Quads that are set aside before their share is looked at. The guard on blocks that cannot count needs some twelve to
/// tell that B is the cause.
const SET_ASIDE_FREE: usize = 16;
/// The name of the guard that every comparison has.
const INVALID: &str = "blocks that cannot count";

/// How a comparison ended, or stands.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// B is better, and an interval says by how much.
    Better,
    /// B is worse.
    Worse,
    /// They differ by less than the effect that matters.
    Alike,
    /// A guard was raised against B.
    Alarm(String),
    /// B was found better, or worse where losses are measured, and has no interval as yet. What ends here is cut short: by a block that fails, by time, by its quads
    /// or by noise. Nothing is claimed of it.
    CutShort,
    /// Most quads are set aside.
    Noisy,
    /// Nothing is shown.
    Open,
}

/// What is known after a quad that counts.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Look {
    /// Quads that count so far.
    pub quads: u32,
    /// Evidence against no difference; a difference is shown from 1 ÷ level on.
    pub evidence: f64,
    /// The smallest level at which a difference is shown, at this look or an earlier one.
    pub p_value: f64,
    /// Mean logarithm of B ÷ A.
    pub mean: f64,
    /// The effects that are not rejected; none before there are enough quads.
    pub interval: Option<(f64, f64)>,
}

/// A comparison that is under way or done.
#[derive(Clone, Debug)]
pub struct Comparison {
    rules: ComparisonRules,
    coin: Coin,
    sequence: Sequence,
    alike: Equivalence,
    /// One for each guard of the rules, and the one on blocks that cannot count.
    alarms: Vec<(String, Alarm)>,
    quads: Vec<MeasuredQuad>,
    looks: Vec<Look>,
}

impl Comparison {
    /// Without a quad. The seed decides the orders.
    ///
    /// # Errors
    /// With a pilot without noise, or rules out of range.
    pub fn new(rules: &ComparisonRules, pilot: &Pilot, seed: u64) -> Result<Self, SettingError> {
        let scale = pilot.scale()?;
        // Together the guards are wrong as often as the level says.
        let guards = rules.guards.len() + 1;
        let level = rules.level.divided(guards);
        let mut alarms = Vec::with_capacity(guards);
        for (at, guard) in rules.guards.iter().enumerate() {
            let alarm = Alarm::new(level, pilot.guard_scale(at, guard)?, guard.tolerated)?;
            alarms.push((guard.name.clone(), alarm));
        }
        alarms.push((INVALID.to_owned(), Alarm::new(level, Pilot::invalid_scale()?, 0.0)?));
        Ok(Self {
            coin: Coin::new(&Rng::from_seed(seed).split("comparison")),
            sequence: Sequence::new(rules.level, scale),
            alike: Equivalence::new(rules.level, scale, rules.effect)?,
            alarms,
            rules: rules.clone(),
            quads: Vec::new(),
            looks: Vec::new(),
        })
    }

    /// The order of the next quad; `None` when the comparison has ended.
    ///
    /// One that has found B better goes on until that has an interval; so does one that has found it worse, where losses are
    /// measured.
    pub fn next_order(&mut self) -> Option<QuadOrder> {
        let goes_on = match self.verdict() {
            Verdict::Open => true,
            Verdict::CutShort => !self.is_noisy(),
            _ => false,
        };
        let spent = self.sequence.quads() >= self.rules.quads_max;
        if goes_on && !spent { Some(self.coin.throw()) } else { None }
    }

    /// Takes the blocks of the next quad.
    pub fn take(&mut self, order: QuadOrder, blocks: [Block; 4]) -> &MeasuredQuad {
        let quad = MeasuredQuad::new(&self.rules, order, blocks);
        if let Some((_, alarm)) = self.alarms.last_mut() {
            // Finite by its making.
            let _ = alarm.push(quad.invalid);
        }
        if let Some(effect) = quad.effect.filter(|effect| effect.is_finite()) {
            let _ = self.sequence.push(effect);
            let _ = self.alike.push(effect);
            let guards = self.rules.guards.iter().zip(&quad.guards);
            for ((_, alarm), (guard, effect)) in self.alarms.iter_mut().zip(guards) {
                let _ = alarm.push(guard.bounded(*effect));
            }
            self.looks.push(self.look());
        }
        self.quads.push(quad);
        &self.quads[self.quads.len() - 1]
    }

    fn look(&self) -> Look {
        Look {
            quads: self.sequence.quads(),
            evidence: self.sequence.evidence(0.0),
            p_value: self.sequence.p_value(),
            mean: self.sequence.mean(),
            interval: self.sequence.interval(),
        }
    }

    /// What is shown so far. A guard comes before everything else.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        if let Some((name, _)) = self.alarms.iter().find(|(_, alarm)| alarm.is_raised()) {
            return Verdict::Alarm(name.clone());
        }
        let has_interval = self.sequence.interval().is_some();
        match (self.sequence.finding(), self.rules.better) {
            (Finding::Less, Better::Less) | (Finding::More, Better::More) => {
                if has_interval {
                    Verdict::Better
                } else {
                    Verdict::CutShort
                }
            }
            (Finding::More, Better::Less) | (Finding::Less, Better::More) => {
                let is_told = has_interval || !self.rules.has_losses_measured;
                if is_told { Verdict::Worse } else { Verdict::CutShort }
            }
            (Finding::Open, _) if self.alike.finding() == Equivalent::Yes => Verdict::Alike,
            (Finding::Open, _) if self.is_noisy() => Verdict::Noisy,
            (Finding::Open, _) => Verdict::Open,
        }
    }

    /// Whether more quads were set aside than counted, after some.
    #[must_use]
    pub fn is_noisy(&self) -> bool {
        let set_aside = self.quads.len() - self.looks.len();
        set_aside > SET_ASIDE_FREE && set_aside > self.looks.len()
    }

    /// The rules that were fixed beforehand.
    pub(super) const fn rules(&self) -> &ComparisonRules {
        &self.rules
    }

    /// All quads, also those that are set aside.
    #[must_use]
    pub fn quads(&self) -> &[MeasuredQuad] {
        &self.quads
    }

    /// What was known after each quad that counts.
    #[must_use]
    pub fn looks(&self) -> &[Look] {
        &self.looks
    }

    /// Each guard with its mean effect and its p-value.
    pub fn guards(&self) -> impl Iterator<Item = (&str, f64, f64)> {
        self.alarms.iter().map(|(name, alarm)| (name.as_str(), alarm.mean(), alarm.p_value()))
    }
}
