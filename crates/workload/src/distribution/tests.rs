use super::*;
use proptest::prelude::{Strategy, prop_assert, prop_oneof, proptest};

const DRAWS: usize = 200_000;

fn sorted(of: &Distribution) -> Vec<f64> {
    let mut rng = Rng::from_seed(1);
    let mut draws: Vec<f64> = (0..DRAWS).map(|_| of.draw(&mut rng)).collect();
    draws.sort_by(f64::total_cmp);
    draws
}

fn quantile(sorted: &[f64], share: f64) -> f64 {
    sorted[(share * sorted.len() as f64) as usize]
}

fn mean(draws: &[f64]) -> f64 {
    draws.iter().sum::<f64>() / draws.len() as f64
}

/// Closed forms, one per shape: mean 1, variance, and quantiles.
fn check(of: &Distribution, quantiles: &[(f64, f64)]) {
    let draws = sorted(of);
    // Four standard errors of the mean.
    let error = 4.0 * (of.variation() / DRAWS as f64).sqrt();
    assert!((mean(&draws) - 1.0).abs() < error, "{of}: mean {}", mean(&draws));
    for &(share, expected) in quantiles {
        let found = quantile(&draws, share);
        assert!((found / expected - 1.0).abs() < 0.03, "{of} at {share}: {found}, not {expected}");
    }
}

#[test]
fn log_normal_has_its_median_and_its_tail() {
    // The median is exp(−σ²/2), the others exp(σ z − σ²/2) with z of the normal distribution.
    let at = |sigma: f64, z: f64| (sigma * z - sigma * sigma / 2.0).exp();
    for sigma in [0.3, 1.0, 1.5] {
        let quantiles = [(0.5, 0.0), (0.9, 1.281_55), (0.99, NORMAL_P99), (0.999, NORMAL_P999)];
        let quantiles = quantiles.map(|(share, z)| (share, at(sigma, z)));
        check(&Distribution::LogNormal { sigma }, &quantiles[..3]);
    }
    let tenfold = sorted(&Distribution::log_normal_of_ratio(10.0));
    let ratio = quantile(&tenfold, 0.99) / quantile(&tenfold, 0.5);
    assert!((9.6..10.4).contains(&ratio), "{ratio}");
}

#[test]
fn gamma_has_the_quantiles_of_its_special_cases() {
    // Shape 1 is the exponential; a half is the square of a normal variable; 2 is Erlang's.
    let exponential = [0.5_f64, 0.9, 0.99].map(|share| (share, -(1.0 - share).ln()));
    check(&Distribution::Gamma { shape: 1.0 }, &exponential);
    check(&Distribution::Gamma { shape: 0.5 }, &[(0.5, 0.4549), (0.9, 2.7055), (0.99, 6.6349)]);
    check(
        &Distribution::Gamma { shape: 2.0 },
        &[(0.5, 0.839_17), (0.9, 1.944_86), (0.99, 3.319_18)],
    );
}

#[test]
fn pareto_has_its_power_law_its_ends_and_its_mean() {
    for (shape, longest) in [(1.1, 1_000.0), (1.5, 1_000.0), (2.0, 100.0), (3.0, 10.0)] {
        let pareto = Pareto::new(shape, longest);
        assert!((pareto.mean() - 1.0).abs() < 1e-9, "{pareto:?}: {}", pareto.mean());
        let draws = sorted(&Distribution::Pareto(pareto));
        assert!(draws[0] >= pareto.least && draws[DRAWS - 1] <= longest, "{pareto:?}");
        // P(X > x) = ((least ÷ x)^shape − (least ÷ longest)^shape) ÷ (1 − (least ÷ longest)^shape).
        let ratio = |x: f64| (pareto.least / x).powf(shape);
        for x in [2.0 * pareto.least, 1.0, 5.0] {
            let expected = (ratio(x) - ratio(longest)) / (1.0 - ratio(longest));
            let found = draws.iter().filter(|draw| **draw > x).count() as f64 / DRAWS as f64;
            // Five standard deviations of a count.
            let error = 5.0 * (expected * (1.0 - expected) / DRAWS as f64).sqrt();
            assert!((found - expected).abs() < error, "{pareto:?} above {x}: {found}, {expected}");
        }
        check(&Distribution::Pareto(pareto), &[]);
    }
}

#[test]
fn variations_are_those_of_the_draws() {
    for of in [
        Distribution::Constant,
        Distribution::Exponential,
        Distribution::Bimodal,
        Distribution::LogNormal { sigma: 0.5 },
        Distribution::Gamma { shape: 0.5 },
        Distribution::Pareto(Pareto::new(2.0, 20.0)),
    ] {
        let draws = sorted(&of);
        let squares: Vec<f64> = draws.iter().map(|draw| draw * draw).collect();
        let found = mean(&squares) - 1.0;
        let expected = of.variation();
        assert!((found - expected).abs() <= 0.05 * expected, "{of}: {found}, not {expected}");
    }
}

#[test]
fn the_same_seed_draws_the_same_for_ever() {
    let first = |of: &Distribution| {
        let mut rng = Rng::from_seed(7);
        [0; 3].map(|_| (of.draw(&mut rng) * 1e6).round() as u64)
    };
    assert_eq!(first(&Distribution::LogNormal { sigma: 1.0 }), [97620, 109465, 1233673]);
    assert_eq!(first(&Distribution::Gamma { shape: 0.5 }), [750, 1322497, 536844]);
    assert_eq!(first(&Distribution::Pareto(Pareto::new(1.5, 1_000.0))), [352730, 385159, 788887]);
}

fn any() -> impl Strategy<Value = Distribution> {
    prop_oneof![
        limits::SIGMA.prop_map(|sigma| Distribution::LogNormal { sigma }),
        limits::GAMMA_SHAPE.prop_map(|shape| Distribution::Gamma { shape }),
        (limits::PARETO_SHAPE, 2.0..=1e6)
            .prop_map(|(shape, longest)| Distribution::Pareto(Pareto::new(shape, longest))),
    ]
}

proptest! {
    #[test]
    fn every_shape_within_the_limits_draws_numbers_and_has_a_longest_mean(
        of in any(),
        seed in 0..u64::MAX,
    ) {
        let mut rng = Rng::from_seed(seed);
        for _ in 0..100 {
            let draw = of.draw(&mut rng);
            prop_assert!(draw.is_finite() && draw >= 0.0, "{}: {}", of, draw);
        }
        prop_assert!(of.variation() >= 0.0 && of.variation().is_finite());
        prop_assert!(of.longest() >= 1.0 && of.longest().is_finite(), "{}: {}", of, of.longest());
        prop_assert!(of.mean_max() > Duration::ZERO);
    }

    #[test]
    fn so_little_of_the_work_lies_beyond_the_longest_as_is_said(of in any()) {
        let mut rng = Rng::from_seed(3);
        let draws: Vec<f64> = (0..20_000).map(|_| of.draw(&mut rng)).collect();
        let all: f64 = draws.iter().sum();
        let beyond: f64 = draws.iter().filter(|draw| **draw > of.longest()).sum();
        // What is rare and long comes in few draws: the share is a thousandth in the mean alone.
        prop_assert!(beyond / all < 0.25, "{}: {}", of, beyond / all);
    }
}

#[test]
fn the_widest_shapes_that_are_allowed_allow_a_mean_of_a_microsecond() {
    let widest = [
        Distribution::LogNormal { sigma: *limits::SIGMA.end() },
        Distribution::log_normal_of_ratio(*limits::P99_OF_P50.end()),
        Distribution::Gamma { shape: *limits::GAMMA_SHAPE.start() },
    ];
    for shape in widest {
        let most = shape.mean_max();
        assert!(most >= Duration::from_micros(1), "{shape}: {most:?}");
    }
}
