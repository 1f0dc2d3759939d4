//! Screening of made-up blocks of which neighbours are alike: what is kept, and how often.

use rand_distr::{Distribution as _, StandardNormal};
use tailwater_core::Rng;
use tailwater_stats::anytime::Level;
use tailwater_tune::ab::{Better, Block, ComparisonRules, Pilot};
use tailwater_tune::factorial::{Factorial, MainEffects};

/// Screenings of each case.
const SCREENINGS: u64 = 1_000;
const KNOBS: usize = 8;
/// Of neighbouring blocks; 0.64 was measured (`docs/figures-sku.md`).
const CORRELATION: f64 = 0.6;

/// Logarithms of what blocks cost, one after another: an autoregression of the first order.
struct Blocks {
    rng: Rng,
    last: f64,
}

impl Blocks {
    fn new(seed: u64) -> Self {
        Self { rng: Rng::from_seed(seed).split("blocks"), last: 0.0 }
    }

    fn draw(&mut self) -> f64 {
        let new: f64 = StandardNormal.sample(&mut self.rng);
        self.last = CORRELATION * self.last + (1.0 - CORRELATION * CORRELATION).sqrt() * 0.1 * new;
        self.last
    }
}

/// A pilot, and the screening after it.
struct Screened {
    design: Factorial,
    times: Vec<Vec<f64>>,
    pilot: Pilot,
}

impl Screened {
    fn new(seed: u64, replicates: usize) -> Self {
        let rules = ComparisonRules {
            better: Better::Less,
            level: Level::FIVE_PERCENT,
            effect: 0.01,
            quads_max: 40,
            has_losses_measured: false,
            guards: Vec::new(),
            noise: Vec::new(),
        };
        let (mut blocks, mut pilot) = (Blocks::new(seed), Pilot::new(seed));
        // From where they begin they are soon anywhere.
        for _ in 0..100 {
            blocks.draw();
        }
        for _ in 0..8 {
            let order = pilot.throw();
            let four = order.arms().map(|_| {
                let metric = blocks.draw().exp();
                Block { metric, guards: Vec::new(), noise: Vec::new(), invalid: None, void: 0 }
            });
            pilot.take(&rules, order, four);
        }
        let design = Factorial::new(KNOBS).expect("as many as there may be");
        let mut orders = Rng::from_seed(seed).split("orders");
        let times = (0..replicates).map(|_| {
            let mut order: Vec<usize> = (0..design.runs()).collect();
            orders.shuffle(&mut order);
            let mut responses = vec![0.0; design.runs()];
            order.into_iter().for_each(|run| responses[run] = blocks.draw());
            responses
        });
        Self { times: times.collect(), design, pilot }
    }

    fn found(&self) -> MainEffects {
        let deviation = self.pilot.block_deviation();
        self.design.main_effects(&self.times, deviation).expect("it was played")
    }

    /// What an error from quads would be, in which what neighbours share cancels.
    fn error_of_quads(&self) -> f64 {
        let effects = self.pilot.effects();
        let squares: f64 = effects.iter().map(|effect| effect * effect).sum();
        let blocks = self.times.len() * self.design.runs();
        2.0 * (squares / effects.len() as f64).sqrt() / (blocks as f64).sqrt()
    }

    /// The first knob brings so much.
    fn plant(&mut self, gain: f64) {
        for responses in &mut self.times {
            for (run, response) in responses.iter_mut().enumerate() {
                *response -= if self.design.levels(run)[0] { gain } else { 0.0 };
            }
        }
    }
}

/// The share of knobs without effect that are kept, by the rule and by an error from quads.
fn kept_for_nothing(replicates: usize) -> [f64; 2] {
    let mut kept = [0_usize; 2];
    for seed in 0..SCREENINGS {
        let screened = Screened::new(seed, replicates);
        let found = screened.found();
        let of_quads = MainEffects { standard_error: screened.error_of_quads(), ..found.clone() };
        for (kept, found) in kept.iter_mut().zip([&found, &of_quads]) {
            let worth = |knob: &usize| found.is_worth_a_test(*knob, Better::Less, false);
            *kept += (0..KNOBS).filter(worth).count();
        }
    }
    kept.map(|kept| kept as f64 / (SCREENINGS as usize * KNOBS) as f64)
}

#[test]
fn a_knob_without_effect_is_kept_in_one_of_six_though_neighbours_are_alike() {
    for replicates in [1, 2, 4] {
        let [kept, by_quads] = kept_for_nothing(replicates);
        assert!((0.12..0.19).contains(&kept), "{kept} of {replicates}");
        assert!(by_quads > 0.2, "an error from quads keeps {by_quads} of {replicates}");
    }
}

#[test]
fn the_smallest_gain_that_is_promised_is_kept_in_four_of_five() {
    for replicates in [1, 2, 4] {
        let kept = (0..SCREENINGS).filter(|seed| {
            let mut screened = Screened::new(*seed, replicates);
            // The error does not depend on what is planted.
            screened.plant(screened.found().smallest_kept());
            screened.found().is_worth_a_test(0, Better::Less, false)
        });
        let kept = kept.count() as f64 / SCREENINGS as f64;
        assert!((0.74..0.86).contains(&kept), "{kept} of {replicates}");
    }
}

#[test]
fn of_several_values_a_loss_is_worth_a_test_too() {
    let found = MainEffects { effects: vec![0.03, -0.03, 0.01], standard_error: 0.02 };
    let worth = |better, more| [0, 1, 2].map(|knob| found.is_worth_a_test(knob, better, more));
    assert_eq!(worth(Better::Less, false), [false, true, false]);
    assert_eq!(worth(Better::More, false), [true, false, false]);
    assert_eq!(worth(Better::Less, true), [true, true, false]);
}
