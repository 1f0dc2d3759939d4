//! The gain, measured: quads of blocks with and without the accelerator, of all cells in turn.

use super::calibration::{Calibration, Effort};
use super::host::Host;
use crate::failure::Failure;
use tailwater_core::Rng;
use tailwater_stats::anytime::{Arm, Coin, QuadOrder};
use tailwater_tune::accelerator::validation::{Cell, NoiseLimits, Trial, TrialBlock};

/// So many times the wanted quads are tried before a cell is left with those that count.
const TRIES_EACH: u32 = 8;

/// The trials of each cell, of which so many shall count.
pub(super) struct Trials<'t> {
    cells: &'t [Cell],
    quads: u32,
    effort: Effort,
    coin: Coin,
    /// Of the order of cells.
    rng: Rng,
    tried: Vec<Vec<Trial>>,
    sweeps: u32,
}

impl<'t> Trials<'t> {
    /// None yet.
    pub(super) fn begin(cells: &'t [Cell], quads: u32, effort: Effort) -> Self {
        let rng = Rng::from_seed(effort.seed);
        Self {
            cells,
            quads,
            effort,
            coin: Coin::new(&rng),
            rng: rng.split("order of cells"),
            tried: vec![Vec::new(); cells.len()],
            sweeps: 0,
        }
    }

    /// One quad of every cell that lacks some, in an order by chance. False where none does, or all tries are over.
    pub(super) fn sweep(
        &mut self,
        host: &Host<'_>,
        calibration: &Calibration,
    ) -> Result<bool, Failure> {
        let counting =
            |trials: &[Trial]| trials.iter().filter(|trial| trial.times().is_some()).count();
        let lacks = |at: &usize| counting(&self.tried[*at]) < self.quads as usize;
        let mut sweep: Vec<usize> = (0..self.cells.len()).filter(lacks).collect();
        if sweep.is_empty() || self.sweeps == self.quads * TRIES_EACH {
            return Ok(false);
        }
        self.sweeps += 1;
        self.rng.shuffle(&mut sweep);
        for at in sweep {
            let cell = &self.cells[at];
            let requests = calibration.requests(cell, host.work, self.effort.block);
            let mut block = |with| Ok(host.run(&calibration.plan(cell, with, requests))?.block);
            self.tried[at].push(quad(&self.effort.rules, self.coin.throw(), &mut block)?);
        }
        Ok(true)
    }

    /// Those of each cell.
    pub(super) fn of_cells(&self) -> &[Vec<Trial>] {
        &self.tried
    }
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
