//! A made-up accelerator whose truth is known: the right model is confirmed, a wrong one is noticed.

use tailwater_core::Rng;
use tailwater_stats::anytime::{Arm, Coin};
use tailwater_tune::accelerator::Threading;
use tailwater_tune::accelerator::validation::{
    BlockNoise, Cell, Compared, NoiseLimits, Parts, Trial, TrialBlock, ValidationVerdict,
    own_errors, predict, software,
};

const QUIET: BlockNoise = BlockNoise { steal: 0.0, host_away: 0.0, device_away: 0.0 };
const ROUNDS: usize = 20;
const TRIALS: usize = 12;

/// The truth of a machine, in nanoseconds.
struct Machine {
    rng: Rng,
    work: f64,
    setup: f64,
    transfer: f64,
    queueing: f64,
    switch: f64,
}

impl Machine {
    fn new(seed: u64) -> Self {
        let rng = Rng::from_seed(seed);
        Self { rng, work: 30e3, setup: 60.0, transfer: 1.5e3, queueing: 700.0, switch: 1.8e3 }
    }

    /// One percent of noise on every measurement.
    fn measured(&mut self, truth: f64) -> f64 {
        truth * (1.0 + 0.02 * (self.rng.unit() - 0.5))
    }

    fn kernel(cell: &Cell) -> f64 {
        f64::from(cell.bytes) * 2.3
    }

    fn queue(&self, cell: &Cell) -> f64 {
        if cell.others_percent > 0 { self.queueing } else { 0.0 }
    }

    fn switches(cell: &Cell) -> f64 {
        match cell.threading {
            Threading::SyncOs => 2.0,
            Threading::AsyncDistinct => 1.0,
            _ => 0.0,
        }
    }

    fn parts(&mut self, cell: &Cell) -> Parts {
        let kernel = Self::kernel(cell);
        let handed = self.work + self.setup + self.transfer;
        let queued = handed + self.queue(cell);
        Parts {
            work: self.measured(self.work),
            kernel: self.measured(kernel),
            device: self.measured(kernel / cell.acceleration.unwrap_or(1.0)),
            setup: self.measured(self.setup),
            handed: Some(self.measured(handed)),
            queued: (cell.others_percent > 0).then(|| self.measured(queued)),
            switch: (Self::switches(cell) > 0.0).then(|| self.measured(self.switch)),
            busy: None,
        }
    }

    /// By the equations 6.1, 6.3 and 6.6, written down once more.
    fn with(&self, cell: &Cell) -> f64 {
        let waits = match cell.threading {
            Threading::Sync => Self::kernel(cell) / cell.acceleration.unwrap_or(1.0),
            _ => 0.0,
        };
        let switches = Self::switches(cell) * self.switch;
        self.work + self.setup + self.transfer + self.queue(cell) + waits + switches
    }

    fn trial(&mut self, coin: &mut Coin, cell: &Cell, with: f64) -> Trial {
        let order = coin.throw();
        let without = self.work + Self::kernel(cell);
        let blocks = order.arms().map(|arm| {
            let truth = if arm == Arm::A { without } else { with };
            TrialBlock {
                ns_per_request: self.measured(truth),
                switches_per_request: 0.0,
                noise: QUIET,
            }
        });
        Trial::new(&NoiseLimits::DEFAULT, order, blocks)
    }
}

/// Predictions of the model against a machine whose requests take what `truth` says with an accelerator.
fn compared(truth: impl Fn(&Machine, &Cell) -> f64) -> Vec<Compared> {
    let mut machine = Machine::new(7);
    let mut coin = Coin::new(&Rng::from_seed(8));
    software(false)
        .into_iter()
        .map(|cell| {
            let rounds: Vec<Parts> = (0..ROUNDS).map(|_| machine.parts(&cell)).collect();
            let predicted = predict(&cell, &rounds, 1).expect("an outcome");
            let with = truth(&machine, &cell);
            let trials: Vec<Trial> =
                (0..TRIALS).map(|_| machine.trial(&mut coin, &cell, with)).collect();
            Compared::of(cell, predicted, &trials)
        })
        .collect()
}

/// The same, with what cells of other sizes tell of the model's own error.
fn verdict_with_own_errors(truth: impl Fn(&Machine, &Cell) -> f64) -> ValidationVerdict {
    let mut compared = compared(truth);
    own_errors(&mut compared);
    ValidationVerdict::of(&compared).expect("cells")
}

fn verdict(truth: impl Fn(&Machine, &Cell) -> f64) -> ValidationVerdict {
    ValidationVerdict::of(&compared(truth)).expect("cells")
}

#[test]
fn the_right_model_is_confirmed() {
    let found = verdict(Machine::with);
    assert!(found.holds, "{found:?}");
    assert_eq!((found.cells, found.unmeasured), (51, 0));
}

#[test]
fn a_model_that_misses_a_cost_is_noticed() {
    // A machine that copies each offload: a tenth of the kernel's time, which no equation has.
    let copies = verdict(|machine, cell| machine.with(cell) + 0.1 * Machine::kernel(cell));
    assert!(!copies.holds, "{copies:?}");
    // One whose threads wait for the answer where the design says that they go on.
    let waits = verdict(|machine, cell| {
        let waits = Machine::kernel(cell) / cell.acceleration.unwrap_or(1.0);
        machine.with(cell) + if cell.threading == Threading::Sync { 0.0 } else { waits }
    });
    assert!(!waits.holds, "{waits:?}");
}

#[test]
fn a_wrong_number_of_switches_is_noticed() {
    // One switch for each offload where equation 6.3 charges two: o1 is measured apart, and not fitted to the design.
    let once = verdict(|machine, cell| {
        let is_twice = cell.threading == Threading::SyncOs;
        machine.with(cell) - if is_twice { machine.switch } else { 0.0 }
    });
    assert!(!once.holds, "{once:?}");
    assert!(
        once.within_without_gain < once.within,
        "what is gained is worth a prediction: {once:?}"
    );
    // The nine cells of Sync-OS, and no others.
    assert!((once.within - 42.0 / 51.0).abs() < 1e-9, "{once:?}");
    assert!(once.covered <= 42.0 / 51.0 + 1e-9, "{once:?}");
}

#[test]
fn cells_without_trials_that_count_are_told_and_confirm_nothing() {
    let mut machine = Machine::new(9);
    let mut coin = Coin::new(&Rng::from_seed(9));
    let cell = software(true)[0];
    let rounds = vec![machine.parts(&cell); 3];
    let predicted = predict(&cell, &rounds, 1).expect("an outcome");
    let with = machine.with(&cell);
    let mut trials: Vec<Trial> = (0..4).map(|_| machine.trial(&mut coin, &cell, with)).collect();
    let counted = Compared::of(cell, predicted.clone(), &trials);
    assert!(counted.measured.is_some_and(|found| found.trials == 4));
    trials.iter_mut().for_each(|trial| trial.set_aside = Some("noise".into()));
    let none = Compared::of(cell, predicted, &trials);
    assert_eq!((none.measured, none.set_aside), (None, 4));
    assert_eq!(ValidationVerdict::of(std::slice::from_ref(&none)), None);
    let both = ValidationVerdict::of(&[counted, none]).expect("one cell");
    assert!(both.unmeasured == 1 && !both.holds);
}

#[test]
fn the_median_of_an_even_number_of_cells_lies_between_the_middle_two() {
    let mut cells = compared(Machine::with);
    own_errors(&mut cells);
    cells.truncate(2);
    let middle = |of: [Option<f64>; 2]| of.iter().flatten().sum::<f64>() / 2.0;
    let points = [0, 1].map(|at| cells[at].measured.map(|found| found.points.abs()));
    let own = [0, 1].map(|at| cells[at].own_error.map(|own| (own.high - own.low) / 2.0 * 100.0));
    assert!(points[0] != points[1] && own[0].is_some(), "{cells:?}");
    let found = ValidationVerdict::of(&cells).expect("two cells");
    assert_eq!((found.points_median, found.half_width_median), (middle(points), Some(middle(own))));
}

#[test]
fn an_error_that_all_sizes_share_is_in_the_interval_and_one_that_grows_with_them_is_not() {
    // Whatever its size, an offload costs 300 ns that no part has.
    let alike = |machine: &Machine, cell: &Cell| machine.with(cell) + 300.0;
    let (alone, widened) = (verdict(alike), verdict_with_own_errors(alike));
    assert!(alone.covered < 0.5 && widened.covered >= 0.95, "{alone:?} {widened:?}");
    assert!(!alone.holds, "{alone:?}");
    assert_eq!(alone.covered, widened.covered_by_inputs);
    // What copies cost at 16 KiB is more than four times what smaller offloads tell.
    let copies =
        verdict_with_own_errors(|machine, cell| machine.with(cell) + 0.1 * Machine::kernel(cell));
    assert!(!copies.holds && copies.covered < 0.9, "{copies:?}");
}
