//! The gain, measured: quads of blocks with and without the accelerator, of all cells in turn.

use super::calibration::{Calibration, Effort};
use super::host::Host;
use crate::failure::Failure;
use tailwater_core::Rng;
use tailwater_stats::anytime::{Arm, Coin, QuadOrder};
use tailwater_tune::accelerator::validation::{Cell, NoiseLimits, Trial, TrialBlock};

/// So many times the wanted quads are tried before a cell is left with those that count.
const TRIES_EACH: u32 = 8;

/// The trials of each cell. A sweep has one quad of every cell that lacks some, in an order by chance; `step` hears of each.
pub(super) fn measure(
    host: &Host<'_>,
    (cells, calibration): (&[Cell], &Calibration),
    (quads, effort): (u32, Effort),
    step: &dyn Fn(),
) -> Result<Vec<Vec<Trial>>, Failure> {
    let rng = Rng::from_seed(effort.seed);
    let (mut coin, mut rng) = (Coin::new(&rng), rng.split("order of cells"));
    let mut tried: Vec<Vec<Trial>> = vec![Vec::new(); cells.len()];
    let counting = |trials: &[Trial]| trials.iter().filter(|trial| trial.times().is_some()).count();
    for _ in 0..quads * TRIES_EACH {
        let lacks = |at: &usize| counting(&tried[*at]) < quads as usize;
        let mut sweep: Vec<usize> = (0..cells.len()).filter(lacks).collect();
        if sweep.is_empty() {
            break;
        }
        rng.shuffle(&mut sweep);
        for at in sweep {
            let requests = calibration.requests(&cells[at], host.work, effort.block);
            let mut block =
                |with| Ok(host.run(&calibration.plan(&cells[at], with, requests))?.block);
            tried[at].push(quad(&effort.rules, coin.throw(), &mut block)?);
        }
        step();
    }
    Ok(tried)
}

fn quad(
    rules: &NoiseLimits,
    order: QuadOrder,
    block: &mut dyn FnMut(bool) -> Result<TrialBlock, Failure>,
) -> Result<Trial, Failure> {
    let [first, second, third, last] = order.arms().map(|arm| arm == Arm::B);
    let blocks = [block(first)?, block(second)?, block(third)?, block(last)?];
    Ok(Trial::new(rules, order, blocks))
}
