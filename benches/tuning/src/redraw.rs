//! Recorded blocks of one program, compared with themselves many times: by our test, by µSKU's rule, and by a test whose
//! finding fresh blocks confirm.

use crate::found::Goal;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;
use tailwater_core::Rng;
use tailwater_stats::anytime::{
    Coin, Finding, Level, OBSERVATIONS_MAX, Quad, Scale, Sequence, UntilSignificant,
};

/// Blocks are recorded for an hour.
const HOUR: f64 = 3_600.0;
/// Blocks that are recorded in any case.
pub(crate) const FEWEST: usize = 200;

/// How often the coins are thrown anew.
const REDRAWINGS: u64 = 1_000;
/// Quads from which the test's scale is taken, and which are not tested.
const PILOT: usize = 8;
/// Quads of a test at most, as `tailwater tune sku` has it.
const TEST: usize = 40;
/// A knob without effect may survive its confirmation once in so many tries.
const CONFIRMED_ONCE_IN: u64 = 50;

/// In how many redrawings a difference was found, of which there is none.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Redrawn {
    blocks: usize,
    /// How long recording them took; of older results it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    recorded_seconds: Option<f64>,
    redrawings: u64,
    ours: u64,
    muskus: u64,
    /// The same by µSKU's rule where the blocks come in an order by chance: then neighbours are no more alike than others.
    /// Older results lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    muskus_shuffled: Option<u64>,
    /// In how many a test found a gain, and in how many fresh blocks then confirmed it.
    adopted: u64,
    confirmed: u64,
    /// Deviation of a block's logarithm.
    noise: f64,
    /// Correlation of neighbours.
    neighbours: f64,
}

impl Redrawn {
    pub(crate) fn goal(&self) -> Goal {
        let is_good = self.ours * 20 <= self.redrawings
            && self.confirmed * CONFIRMED_ONCE_IN <= self.redrawings;
        match is_good {
            false => Goal::Missed,
            true if self.recorded_seconds >= Some(HOUR) => Goal::Met,
            true => Goal::Untold,
        }
    }

    /// Observations that µSKU's rule may take of these blocks.
    fn observations(&self) -> usize {
        self.blocks.min(OBSERVATIONS_MAX as usize)
    }
}

impl fmt::Display for Redrawn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = |found: u64| found as f64 * 100.0 / self.redrawings as f64;
        let minutes = self
            .recorded_seconds
            .map_or_else(|| "?".into(), |seconds| format!("{:.0}", seconds / 60.0));
        let shuffled = self
            .muskus_shuffled
            .map_or_else(|| "?".into(), |shuffled| format!("{:.1}", share(shuffled)));
        write!(
            f,
            "redrawn: {} blocks in {minutes} min (noise {:.2} %, correlation of neighbours {:.2}), {} times; alarms {:.1} % of ours, \
             {:.1} % of µSKU's rule by {} of {OBSERVATIONS_MAX} observations or fewer, {shuffled} % of it where blocks are shuffled; {} \
             adopted for a gain, {} of them confirmed on fresh blocks",
            self.blocks,
            self.noise * 100.0,
            self.neighbours,
            self.redrawings,
            share(self.ours),
            share(self.muskus),
            self.observations(),
            self.adopted,
            self.confirmed
        )
    }
}

/// Redraws blocks that were recorded in that time.
pub(crate) fn redrawn(blocks: &[f64], took: Duration) -> Result<Redrawn, String> {
    let fours: Vec<[f64; 4]> = blocks.as_chunks::<4>().0.to_vec();
    if fours.len() < 2 * PILOT + 2 {
        return Err(format!("{} blocks are too few", blocks.len()));
    }
    let (mut ours, mut muskus, mut shuffled, mut adopted, mut confirmed) = (0, 0, 0, 0, 0);
    for redrawing in 0..REDRAWINGS {
        let rng = Rng::from_seed(redrawing);
        ours += u64::from(is_found(&fours, &rng)?);
        muskus += u64::from(is_found_by_musku(blocks, rng.split("pairs")));
        let mut mixed = blocks.to_vec();
        rng.split("order").shuffle(&mut mixed);
        shuffled += u64::from(is_found_by_musku(&mixed, rng.split("pairs")));
        let (first, fresh) = two_parts(&fours, rng.split("parts"));
        if finding(&first, &rng.split("test"))? == Finding::Less {
            adopted += 1;
            confirmed += u64::from(finding(&fresh, &rng.split("fresh"))? == Finding::Less);
        }
    }
    let logs: Vec<f64> = blocks.iter().map(|cost| cost.ln()).collect();
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let about = |lag: usize| {
        let pairs = logs.iter().zip(&logs[lag..]);
        pairs.map(|(one, other)| (one - mean) * (other - mean)).sum::<f64>()
    };
    let noise = (about(0) / logs.len() as f64).sqrt();
    let neighbours = about(1) / about(0);
    Ok(Redrawn {
        blocks: blocks.len(),
        recorded_seconds: Some(took.as_secs_f64()),
        redrawings: REDRAWINGS,
        ours,
        muskus,
        muskus_shuffled: Some(shuffled),
        adopted,
        confirmed,
        noise,
        neighbours,
    })
}

/// Blocks for a pilot with its test, and later ones for another: from a place by chance, going on at the beginning after
/// the end.
fn two_parts(fours: &[[f64; 4]], mut rng: Rng) -> (Vec<[f64; 4]>, Vec<[f64; 4]>) {
    let length = (PILOT + TEST).min(fours.len() / 2);
    let from = rng.below(u32::try_from(fours.len()).unwrap_or(u32::MAX)) as usize;
    let part = |from: usize| fours.iter().cycle().skip(from).take(length).copied().collect();
    (part(from), part(from + length))
}

/// Whether our test finds a difference at some look.
fn is_found(fours: &[[f64; 4]], rng: &Rng) -> Result<bool, String> {
    Ok(finding(fours, rng)? != Finding::Open)
}

/// What our test finds, with the first quads as its pilot.
fn finding(fours: &[[f64; 4]], rng: &Rng) -> Result<Finding, String> {
    let mut coin = Coin::new(rng);
    let effects = fours.iter().map(|four| Quad::new(coin.throw(), *four).map(|quad| quad.effect()));
    let effects = effects.collect::<Result<Vec<f64>, _>>().map_err(|error| error.to_string())?;
    let (pilot, tested) = effects.split_at(PILOT);
    let scale = Scale::from_pilot(pilot).map_err(|error| error.to_string())?;
    let mut sequence = Sequence::new(Level::FIVE_PERCENT, scale);
    for effect in tested {
        sequence.push(*effect).map_err(|error| error.to_string())?;
    }
    // What was found at one look stays found.
    Ok(sequence.finding())
}

/// The same by the rule of the thesis, with a coin for which of two neighbours is whose.
fn is_found_by_musku(blocks: &[f64], mut rng: Rng) -> bool {
    let mut rule = UntilSignificant::default();
    for [one, other] in blocks.as_chunks::<2>().0 {
        if rule.has_ended() {
            break;
        }
        let (a, b) = if rng.chance(0.5) { (one, other) } else { (other, one) };
        rule.push(*a, *b);
    }
    rule.differs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_up_blocks_raise_few_alarms_and_many_by_the_other_rule() {
        let mut rng = Rng::from_seed(1);
        let blocks: Vec<f64> = (0..800).map(|_| 1_000.0 + 10.0 * rng.unit()).collect();
        let found = redrawn(&blocks, Duration::ZERO).unwrap();
        assert!(found.muskus > 5 * found.ours, "{found}");
        assert_eq!(found.goal(), Goal::Untold, "an hour is wanted");
        assert!(
            found.confirmed <= found.adopted && found.adopted < found.redrawings / 10,
            "{found}"
        );
        assert!(redrawn(&blocks[..8], Duration::ZERO).is_err());
        let found = Redrawn { recorded_seconds: Some(HOUR), ..found };
        assert_eq!(found.goal(), Goal::Met);
        assert_eq!(Redrawn { ours: found.redrawings, ..found }.goal(), Goal::Missed);
    }

    #[test]
    fn neighbours_that_are_alike_keep_the_other_rule_from_alarms() {
        let mut rng = Rng::from_seed(2);
        let mut state = 0.0;
        let mut block = || {
            state = 0.8 * state + rng.unit() - 0.5;
            1_000.0 + 10.0 * state
        };
        let blocks: Vec<f64> = (0..800).map(|_| block()).collect();
        let found = redrawn(&blocks, Duration::ZERO).unwrap();
        assert!(found.neighbours > 0.7, "{found}");
        assert!(found.muskus_shuffled > Some(5 * found.muskus.max(10)), "{found}");
    }
}
