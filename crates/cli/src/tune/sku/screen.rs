//! Screening: which of many knobs seem to matter, from a fractional factorial of single blocks.
//!
//! It only chooses what is tested; nothing is concluded from it. A knob is kept when its main effect is larger than its
//! standard error: a liberal rule, since a knob that is left out is never tested.

use super::super::bench::Bench;
use super::super::dial::Setting;
use super::file::Wanted;
use crate::failure::Failure;
use crate::run::progress::Progress;
use serde::Serialize;
use tailwater_core::Rng;
use tailwater_tune::ab::{Better, Block};
use tailwater_tune::factorial::Factorial;

/// How often a block is measured that the noise rules set aside.
const TRIES: u32 = 3;

/// What screening says of one knob.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Screened {
    pub(super) knob: String,
    /// The value that was tried.
    pub(super) value: String,
    /// Main effect as a logarithm of a ratio; below zero where the quantity falls.
    pub(super) effect: f64,
    /// Of the effect.
    pub(super) standard_error: f64,
    /// Whether it is tested.
    pub(super) kept: bool,
}

/// Plays the design with the first value of each knob. `noise` is the deviation of a block's logarithm.
pub(super) fn screen(
    bench: &mut Bench<'_>,
    wanted: &Wanted,
    noise: f64,
) -> Result<Vec<Screened>, Failure> {
    let factors = wanted.dials.len();
    let design = Factorial::new(factors).ok_or_else(|| Failure::usage("too many knobs"))?;
    let blocks = design.runs() as u64 * u64::from(wanted.replicates);
    let progress = Progress::new(blocks);
    let mut rng = Rng::from_seed(wanted.seed).split("screening");
    let mut sums = vec![0.0; factors];
    for replicate in 1..=wanted.replicates {
        progress.say(&format!("screening, {replicate} of {}", wanted.replicates));
        let seed = bench.next_seed();
        let mut responses = vec![0.0; design.runs()];
        for run in shuffled(design.runs(), &mut rng) {
            let setting = setting(wanted, &design.levels(run));
            responses[run] = response(bench, wanted, &setting, seed)?;
            progress.step();
        }
        let effects = design.effects(&responses).unwrap_or_default();
        sums.iter_mut().zip(effects).for_each(|(sum, effect)| *sum += effect);
    }
    // Half of the blocks are high, half low.
    let standard_error = 2.0 * noise / (blocks as f64).sqrt();
    let screened = |(at, sum): (usize, f64)| {
        let effect = sum / f64::from(wanted.replicates);
        let gain = match wanted.rules.better {
            Better::Less => -effect,
            Better::More => effect,
        };
        // Of several values, others may be good where the first is bad.
        let several = wanted.values[at].len() > 1;
        let kept = gain > standard_error || (several && gain < -standard_error);
        let (knob, value) = (wanted.dials[at].name.clone(), wanted.values[at][0].clone());
        Screened { knob, value, effect, standard_error, kept }
    };
    Ok(sums.into_iter().enumerate().map(screened).collect())
}

/// Stock, but for the knobs that are high.
fn setting(wanted: &Wanted, high: &[bool]) -> Setting {
    let value = |(at, high): (usize, &bool)| {
        if *high { wanted.values[at][0].clone() } else { wanted.stock[at].clone() }
    };
    high.iter().enumerate().map(value).collect()
}

/// The logarithm of what a block measured, once that is quiet enough.
fn response(
    bench: &mut Bench<'_>,
    wanted: &Wanted,
    setting: &Setting,
    seed: u64,
) -> Result<f64, Failure> {
    for _ in 0..TRIES {
        let block = bench.block(setting, seed)?;
        if is_quiet(&block, wanted) {
            return Ok(block.metric.ln());
        }
    }
    Err(Failure::work(format!(
        "screening: a block cannot count after {TRIES} tries; look at its noise by tailwater tune ab"
    )))
}

fn is_quiet(block: &Block, wanted: &Wanted) -> bool {
    let readings = wanted.rules.noise.iter().zip(&block.noise);
    let quiet = readings.into_iter().all(|(rule, reading)| *reading <= rule.max);
    quiet && block.invalid.is_none() && block.metric > 0.0 && block.metric.is_finite()
}

/// All numbers below `count` in an order by chance (Fisher and Yates).
fn shuffled(count: usize, rng: &mut Rng) -> Vec<usize> {
    let mut all: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        // Designs have 32 runs at most.
        let other = rng.below(u32::try_from(last + 1).unwrap_or(u32::MAX)) as usize;
        all.swap(last, other);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shuffling_keeps_every_number_and_favours_none() {
        let mut rng = Rng::from_seed(3);
        let mut first = [0_u32; 8];
        for _ in 0..8_000 {
            let order = shuffled(8, &mut rng);
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..8).collect::<Vec<_>>());
            first[order[0]] += 1;
        }
        assert!(first.iter().all(|count| (850..1_150).contains(count)), "{first:?}");
    }
}
