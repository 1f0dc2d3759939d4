use super::*;
use crate::distribution::Distribution;
use std::time::Duration;
use tailwater_core::Rate;

const SERVICE: Service =
    Service { distribution: Distribution::Exponential, mean: Duration::from_micros(10) };

fn poisson(rate: f64, length: Duration) -> DemandPlan {
    DemandPlan::constant(Rate(rate), length, Arrivals::Poisson)
}

fn build(plan: &DemandPlan, clients: u32, seed: u64) -> Vec<Entry> {
    Schedule::build(plan, clients, &SERVICE, seed).expect("the plan is sound").entries
}

fn gaps(entries: &[Entry]) -> Vec<f64> {
    entries.windows(2).map(|pair| (pair[1].at - pair[0].at) as f64).collect()
}

#[test]
fn an_entry_takes_sixteen_bytes() {
    assert_eq!(size_of::<Entry>(), 16);
}

#[test]
fn a_seed_decides_the_schedule() {
    let plan = poisson(50_000.0, Duration::from_millis(200));
    assert_eq!(build(&plan, 10, 3), build(&plan, 10, 3));
    assert_ne!(build(&plan, 10, 3), build(&plan, 10, 4));
}

#[test]
fn poisson_arrivals_have_their_rate_and_exponential_gaps() {
    let entries = build(&poisson(100_000.0, Duration::from_secs(4)), 100, 1);
    // Five standard deviations of a Poisson count of 400,000.
    assert!((entries.len() as f64 - 400_000.0).abs() < 5.0 * 632.5, "{}", entries.len());
    assert!(entries.is_sorted_by_key(|entry| entry.at));
    assert!(entries.iter().all(|entry| entry.at < 4_000_000_000));

    // Kolmogorov–Smirnov against 1 − e^(−x): 1.63 / √n is the 1 % point.
    let mut gaps = gaps(&entries);
    gaps.sort_by(f64::total_cmp);
    let count = gaps.len() as f64;
    let distance = gaps
        .iter()
        .enumerate()
        .map(|(rank, gap)| (1.0 - (-gap / 10_000.0).exp() - rank as f64 / count).abs())
        .fold(0.0, f64::max);
    assert!(distance < 1.63 / count.sqrt(), "{distance}");
}

#[test]
fn gaps_do_not_depend_on_their_predecessor() {
    let gaps = gaps(&build(&poisson(100_000.0, Duration::from_secs(2)), 100, 2));
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let product: f64 = gaps.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum();
    let square: f64 = gaps.iter().map(|gap| (gap - mean).powi(2)).sum();
    let correlation = product / square;
    assert!(correlation.abs() < 5.0 / (gaps.len() as f64).sqrt(), "{correlation}");
}

#[test]
fn each_client_is_a_poisson_process_of_its_own() {
    let entries = build(&poisson(100_000.0, Duration::from_secs(4)), 16, 5);
    let share = entries.len() as f64 / 16.0;
    for client in 0..16 {
        let own: Vec<Entry> = entries.iter().copied().filter(|e| e.client == client).collect();
        let count = own.len() as f64;
        assert!((count - share).abs() < 5.0 * share.sqrt(), "{client}: {count}");
        // Exponential gaps spread as much as their mean; a client taking turns would not.
        let gaps = gaps(&own);
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        let spread = variance.sqrt() / mean;
        assert!((spread - 1.0).abs() < 0.05, "{client}: {spread}");
    }
}

#[test]
fn scaled_demand_brings_the_same_requests_sooner() {
    let slow = build(&poisson(10_000.0, Duration::from_secs(1)), 50, 9);
    let fast = build(&poisson(20_000.0, Duration::from_secs(1)), 50, 9);
    assert!(fast.len() > slow.len());
    for (slow, fast) in slow.iter().zip(&fast) {
        assert_eq!((slow.client, slow.service_ns), (fast.client, fast.service_ns));
        assert!(slow.at.abs_diff(2 * fast.at) <= 2, "{} {}", slow.at, fast.at);
    }
}

#[test]
fn steps_have_their_rates_and_their_places() {
    let ms = Duration::from_millis;
    let step = |rate, length| Step::steady(Rate(rate), length);
    let plan = DemandPlan {
        steps: vec![step(50_000.0, ms(500)), step(0.0, ms(250)), step(200_000.0, ms(500))],
        arrivals: Arrivals::Poisson,
    };
    let entries = build(&plan, 8, 7);
    let within = |from: u64, to: u64| {
        let range = from * 1_000_000..to * 1_000_000;
        entries.iter().filter(|e| range.contains(&e.at)).count() as f64
    };
    assert!((within(0, 500) - 25_000.0).abs() < 5.0 * 158.0);
    assert_eq!(within(500, 750), 0.0);
    assert!((within(750, 1_250) - 100_000.0).abs() < 5.0 * 316.0);
    assert_eq!(within(1_250, 10_000), 0.0);
}

#[test]
fn periodic_arrivals_keep_their_phase_across_steps() {
    let step = |rate, us| Step::steady(Rate(rate), Duration::from_micros(us));
    let plan = DemandPlan {
        steps: vec![step(100_000.0, 25), step(200_000.0, 20)],
        arrivals: Arrivals::Periodic,
    };
    let times: Vec<u64> = build(&plan, 1, 1).iter().map(|entry| entry.at).collect();
    // Half a gap is over when the rate doubles: the rest of it takes 2.5 µs.
    assert_eq!(times, [10_000, 20_000, 27_500, 32_500, 37_500, 42_500]);
}

fn ramp(from: f64, to: f64, arrivals: Arrivals) -> DemandPlan {
    let step = Step { rate: Rate(from), end: Rate(to), length: Duration::from_secs(2) };
    DemandPlan { steps: vec![step], arrivals }
}

#[test]
fn arrivals_of_a_ramp_are_the_inverse_of_its_integrated_rate() {
    for (from, to) in
        [(0.0, 200_000.0), (200_000.0, 0.0), (50_000.0, 150_000.0), (99_999.0, 100_000.0)]
    {
        let entries = build(&ramp(from, to, Arrivals::Periodic), 1, 1);
        // The n-th of equal shares comes when from t + (to − from) t² ÷ 4 is n.
        let slope = (to - from) / 2.0;
        assert!(entries.len() as f64 >= from + to - 1.5, "{}", entries.len());
        for (n, entry) in (1..).zip(&entries) {
            let at = entry.at as f64 / 1e9;
            let expected = from * at + slope * at * at / 2.0;
            assert!((expected - f64::from(n)).abs() < 1e-3, "{from} to {to}: {expected}, not {n}");
        }
    }
}

#[test]
fn a_ramp_of_poisson_arrivals_is_a_poisson_process_of_its_rate() {
    let entries = build(&ramp(20_000.0, 180_000.0, Arrivals::Poisson), 16, 3);
    assert!(entries.is_sorted_by_key(|entry| entry.at));
    // On the scale of the integrated rate the gaps are exponential, with a mean of 1.
    let integrated = |at: u64| {
        let at = at as f64 / 1e9;
        20_000.0 * at + 40_000.0 * at * at
    };
    let mut gaps: Vec<f64> =
        entries.windows(2).map(|pair| integrated(pair[1].at) - integrated(pair[0].at)).collect();
    gaps.sort_by(f64::total_cmp);
    let count = gaps.len() as f64;
    let distance = gaps.iter().enumerate();
    let distance = distance
        .map(|(rank, gap)| (1.0 - (-gap).exp() - rank as f64 / count).abs())
        .fold(0.0, f64::max);
    assert!(distance < 1.63 / count.sqrt(), "{distance}");
    // A quarter of the time holds what the integral says, within five standard deviations.
    for quarter in 0..4_u64 {
        let (from, to) = (quarter * 500_000_000, (quarter + 1) * 500_000_000);
        let expected = integrated(to) - integrated(from);
        let found = entries.iter().filter(|entry| (from..to).contains(&entry.at)).count() as f64;
        assert!((found - expected).abs() < 5.0 * expected.sqrt(), "{quarter}: {found}, {expected}");
    }
}

#[test]
fn a_flat_ramp_is_a_step_to_the_nanosecond() {
    let steady = poisson(50_000.0, Duration::from_secs(2));
    assert_eq!(build(&steady, 8, 4), build(&ramp(50_000.0, 50_000.0, Arrivals::Poisson), 8, 4));
}

#[test]
fn what_cannot_be_played_is_refused_before_memory_is_taken() {
    let refused = |plan: &DemandPlan, clients| {
        Schedule::build(plan, clients, &SERVICE, 1)
            .map(|schedule| schedule.entries.len())
            .map_err(|error| error.to_string())
    };
    let second = Duration::from_secs(1);
    assert_eq!(
        refused(&poisson(1.0, second), 0),
        Err("there are 0 clients; at least 1 is needed".into())
    );
    assert_eq!(
        refused(&poisson(-2.0, second), 1),
        Err("step 0 asks for -2 requests/s; a finite number of 0 or more is needed".into())
    );
    assert_eq!(
        refused(&poisson(f64::NAN, second), 1),
        Err("step 0 asks for NaN requests/s; a finite number of 0 or more is needed".into())
    );
    assert_eq!(
        refused(&poisson(60e6, second), 1),
        Err("the run asks for 60000000 requests; at most 50000000 fit: shorten it or lower its \
             demand"
            .into())
    );
    assert_eq!(refused(&poisson(0.0, second), 1), Ok(0));
}
