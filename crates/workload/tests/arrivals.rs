//! How requests are spread in time: mean rate and index of dispersion of every kind of arrivals.

use proptest::prelude::*;
use std::time::Duration;
use tailwater_core::Rate;
use tailwater_workload::{Arrivals, DemandPlan, Distribution, Service, Step, Stream};

const SERVICE: Service =
    Service { distribution: Distribution::Constant, mean: Duration::from_micros(1) };

/// Times in nanoseconds.
fn times(plan: &DemandPlan, seed: u64) -> impl Iterator<Item = u64> {
    Stream::new(plan, 1, &SERVICE, seed).expect("the plan is sound").map(|entry| entry.at)
}

fn steady(word: &str, rate: f64, seconds: f64) -> DemandPlan {
    let arrivals: Arrivals = word.parse().unwrap_or_else(|error| panic!("{word}: {error}"));
    DemandPlan::constant(Rate(rate), Duration::from_secs_f64(seconds), arrivals)
}

/// Variance ÷ mean of the counts in windows of this length.
fn dispersion(plan: &DemandPlan, window: Duration, seed: u64) -> f64 {
    let windows = plan.length().div_duration_f64(window) as usize;
    let mut counts = vec![0_u32; windows];
    for at in times(plan, seed) {
        // Of periodic ones some come at a window's very end, give or take a nanosecond.
        let window = ((at + 1_000) as f64 / 1e9 / window.as_secs_f64()) as usize;
        counts[window.min(windows - 1)] += 1;
    }
    let mean = counts.iter().map(|count| f64::from(*count)).sum::<f64>() / windows as f64;
    let squares = counts.iter().map(|count| (f64::from(*count) - mean).powi(2)).sum::<f64>();
    squares / (windows - 1) as f64 / mean
}

/// The index of dispersion of bursts over windows of `window`, all in seconds and requests per second: Heffes and
/// Lucantoni, IEEE JSAC 4(6), 1986, for two states with rates `high` and `low`.
fn of_bursts(rate: f64, factor: f64, [length, quiet]: [f64; 2], window: f64) -> f64 {
    let (leave, come) = (1.0 / length, 1.0 / quiet);
    let (high, low) = (rate * factor, rate * ((length + quiet) - factor * length) / quiet);
    let sum = leave + come;
    let most =
        2.0 * (high - low).powi(2) * leave * come / (sum * sum * (high * come + low * leave));
    1.0 + most * (1.0 - (1.0 - (-sum * window).exp()) / (sum * window))
}

#[test]
fn counts_are_dispersed_as_theory_has_it() {
    let (rate, window) = (2_000.0, Duration::from_millis(100));
    let bursts = of_bursts(rate, 4.0, [0.01, 0.09], 0.1);
    assert!((bursts - 33.8).abs() < 0.1, "{bursts}");
    let expected = [
        ("poisson", 1.0),
        ("gamma:0.25", 4.0),
        ("gamma:4", 0.25),
        ("bursts:4:10ms:90ms", bursts),
        // Gaps of 500 µs that vary by 4.5 %: 1 ÷ 500, and what begins and ends within a window of 200: 1 ÷ 6
        // (Cox, Renewal Theory, 1962, §4.5).
        ("metronome", 0.002 + 1.0 / 1_200.0),
        ("periodic", 0.0),
        // Windows of whole periods.
        ("diurnal:0.8:50ms", 1.0),
    ];
    for (word, expected) in expected {
        let found = dispersion(&steady(word, rate, 2_000.0), window, 5);
        // Twenty thousand windows: variances are known to some per cent.
        let margin = 0.1 * expected + 1e-4;
        assert!((found - expected).abs() < margin, "{word}: {found}, expected {expected}");
    }
}

#[test]
fn gaps_of_the_published_generator_vary_by_the_root_of_their_mean() {
    // Coefficients of variation at these rates; exponential gaps have 1.
    for (rate, expected) in [(100.0, 0.01), (1_000.0, 0.0316), (10_000.0, 0.1)] {
        let plan = steady("metronome", rate, 50_000.0 / rate);
        let times: Vec<u64> = times(&plan, 3).collect();
        let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let square = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        let found = square.sqrt() / mean;
        assert!((found / expected - 1.0).abs() < 0.05, "{rate}: {found}, expected {expected}");
        let whole = gaps.iter().filter(|gap| (*gap / 1e3 - (*gap / 1e3).round()).abs() < 0.01);
        assert!(whole.count() as f64 > 0.99 * gaps.len() as f64, "whole microseconds");
    }
}

#[test]
fn a_swing_has_more_in_its_first_half_and_the_demand_in_the_mean() {
    let plan = steady("diurnal:0.8:1s", 100_000.0, 4.0);
    let mut quarters = [0.0; 4];
    for at in times(&plan, 7) {
        quarters[(at % 1_000_000_000 / 250_000_000) as usize] += 1.0;
    }
    // The mean of a sine over its first quarter is 2 ÷ π.
    let swing = 0.8 * std::f64::consts::FRAC_2_PI;
    for (quarter, factor) in [1.0 + swing, 1.0 + swing, 1.0 - swing, 1.0 - swing].iter().enumerate()
    {
        let expected = 100_000.0 * factor;
        let found: f64 = quarters[quarter];
        assert!((found - expected).abs() < 5.0 * expected.sqrt(), "{quarter}: {found}, {expected}");
    }
}

#[test]
fn bursts_follow_the_steps_of_a_plan_and_pauses_stay_empty() {
    let second = Duration::from_secs(1);
    let ramp = Step { rate: Rate(0.0), end: Rate(40_000.0), length: 20 * second };
    let steps =
        vec![Step::steady(Rate(20_000.0), 20 * second), Step::steady(Rate(0.0), second), ramp];
    let arrivals = "bursts:3:2ms:8ms".parse().expect("a word");
    let plan = DemandPlan { steps, arrivals };
    let times: Vec<f64> = times(&plan, 2).map(|at| at as f64 / 1e9).collect();
    assert!(times.is_sorted());
    let within =
        |from: f64, to: f64| times.iter().filter(|at| (from..to).contains(*at)).count() as f64;
    let spread = of_bursts(20_000.0, 3.0, [0.002, 0.008], 20.0).sqrt();
    let near =
        |found: f64, expected: f64| (found - expected).abs() < 5.0 * spread * expected.sqrt();
    assert!(near(within(0.0, 20.0), 400_000.0), "{}", within(0.0, 20.0));
    assert_eq!(within(20.0, 21.0), 0.0);
    assert!(near(within(21.0, 41.0), 400_000.0), "{}", within(21.0, 41.0));
    // The second half of the ramp has three quarters of its requests.
    assert!(near(within(31.0, 41.0), 300_000.0), "{}", within(31.0, 41.0));
}

fn word() -> impl Strategy<Value = (String, f64)> {
    // Each with the index of dispersion of long windows at 2,000 requests/s.
    prop_oneof![
        Just(("poisson".to_owned(), 1.0)),
        Just(("periodic".to_owned(), 0.0)),
        Just(("metronome".to_owned(), 0.002)),
        (0.1..8.0_f64).prop_map(|shape| (format!("gamma:{shape}"), 1.0 / shape)),
        (1_u64..30, 1_u64..30, 0.0..1.0_f64).prop_map(|(length, quiet, share)| {
            let most = (length + quiet) as f64 / length as f64;
            let factor = 1.01 + share * (most - 1.02).max(0.0);
            let times = [length as f64 / 1e3, quiet as f64 / 1e3];
            (
                format!("bursts:{factor}:{length}ms:{quiet}ms"),
                of_bursts(2_000.0, factor, times, 1e9),
            )
        }),
        (0.01..1.0_f64, 1_u64..5)
            .prop_map(|(swing, period)| (format!("diurnal:{swing}:{}ms", 10 * period), 1.0)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Twelve seconds are a whole number of each period.
    #[test]
    fn every_kind_has_the_demand_in_the_mean((word, dispersion) in word(), seed in any::<u64>()) {
        let plan = steady(&word, 2_000.0, 12.0);
        let times: Vec<u64> = times(&plan, seed).collect();
        prop_assert!(times.is_sorted());
        prop_assert!(times.iter().all(|at| *at < 12_000_000_000));
        let count = times.len() as f64;
        // Six standard deviations, and the gaps that begin and end the run.
        let margin = 6.0 * (dispersion * 24_000.0).sqrt() + 3.0;
        prop_assert!((count - 24_000.0).abs() < margin, "{} {}: {}", word, seed, count);
    }

    #[test]
    fn a_seed_decides_all_times((word, _) in word(), seed in any::<u64>()) {
        let plan = steady(&word, 2_000.0, 0.6);
        prop_assert!(times(&plan, seed).eq(times(&plan, seed)));
    }
}
