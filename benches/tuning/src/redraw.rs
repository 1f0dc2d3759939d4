//! Recorded blocks of one program, compared with themselves many times: by our test and by µSKU's rule.

use serde::Serialize;
use std::fmt;
use tailwater_core::Rng;
use tailwater_stats::anytime::{Coin, Finding, Level, Quad, Scale, Sequence, UntilSignificant};

/// How often the coins are thrown anew.
const REDRAWINGS: u64 = 1_000;
/// Quads from which the test's scale is taken, and which are not tested.
const PILOT: usize = 8;

/// In how many redrawings a difference was found, of which there is none.
#[derive(Serialize)]
pub(crate) struct Redrawn {
    blocks: usize,
    redrawings: u64,
    ours: u64,
    muskus: u64,
    /// Deviation of a block's logarithm.
    noise: f64,
    /// Correlation of neighbours.
    neighbours: f64,
}

impl Redrawn {
    pub(crate) const fn is_good(&self) -> bool {
        self.ours * 20 <= self.redrawings
    }
}

impl fmt::Display for Redrawn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = |found: u64| found as f64 * 100.0 / self.redrawings as f64;
        write!(
            f,
            "redrawn: {} blocks (noise {:.2} %, correlation of neighbours {:.2}), {} times; alarms {:.1} % of ours, {:.1} % of \
             µSKU's rule",
            self.blocks,
            self.noise * 100.0,
            self.neighbours,
            self.redrawings,
            share(self.ours),
            share(self.muskus)
        )
    }
}

pub(crate) fn redrawn(blocks: &[f64]) -> Result<Redrawn, String> {
    let fours: Vec<[f64; 4]> = blocks.as_chunks::<4>().0.to_vec();
    if fours.len() < 2 * PILOT {
        return Err(format!("{} blocks are too few", blocks.len()));
    }
    let (mut ours, mut muskus) = (0, 0);
    for redrawing in 0..REDRAWINGS {
        let rng = Rng::from_seed(redrawing);
        ours += u64::from(is_found(&fours, &rng)?);
        muskus += u64::from(is_found_by_musku(blocks, rng.split("pairs")));
    }
    let logs: Vec<f64> = blocks.iter().map(|cost| cost.ln()).collect();
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let about = |lag: usize| {
        let pairs = logs.iter().zip(&logs[lag..]);
        pairs.map(|(one, other)| (one - mean) * (other - mean)).sum::<f64>()
    };
    let noise = (about(0) / logs.len() as f64).sqrt();
    let neighbours = about(1) / about(0);
    Ok(Redrawn { blocks: blocks.len(), redrawings: REDRAWINGS, ours, muskus, noise, neighbours })
}

/// Whether our test finds a difference at some look.
fn is_found(fours: &[[f64; 4]], rng: &Rng) -> Result<bool, String> {
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
    Ok(sequence.finding() != Finding::Open)
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
        let found = redrawn(&blocks).unwrap();
        assert!(found.is_good() && found.muskus > 5 * found.ours, "{found}");
        assert!(redrawn(&blocks[..8]).is_err());
    }
}
