use super::*;
use crate::result::Yardstick;
use tailwater_core::Rng;

const US: Duration = Duration::from_micros(1);

/// A window from 1 s to 2 s, SLO 200 µs, bins of 300 ms: the last has only 100 ms.
fn spec() -> TallySpec {
    TallySpec {
        slo: US * 200,
        from: Instant::from_nanos(1_000_000_000),
        to: Instant::from_nanos(2_000_000_000),
        bin: Some(Duration::from_millis(300)),
    }
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

#[test]
fn a_known_run_is_filled_in_field_by_field() {
    let mut tally = Tally::new(spec());
    (0..98).for_each(|i| tally.served(at(1000 + i), US * 100));
    tally.served(at(1950), US * 200);
    tally.served(at(1951), US * 201);
    tally.shed(at(1310), US * 30, "delay");
    tally.shed(at(1320), US * 40, "no-credit");
    tally.shed(at(1330), US * 50, "delay");
    tally.expired(at(1600));
    tally.lost(at(1610));
    tally.unsent(at(1620));
    tally.late_by(at(1620), US * 7);

    let mut run = Run {
        yardstick: Yardstick { capacity_rps: 200.0, bound_rps: 110.0, ..Yardstick::default() },
        ..Run::default()
    };
    tally.finish().fill(&mut run, Some(150));
    assert_eq!(run.fates, Fates { ok: 99, late: 1, expired: 1, shed: 3, lost: 2 });
    assert_eq!((run.unsent, run.asked.slo_us), (1, 200.0));
    assert_eq!(
        (run.rates.offered_rps, run.rates.throughput_rps, run.rates.goodput_rps),
        (106.0, 100.0, 99.0)
    );
    assert_eq!((run.rates.goodput_of_capacity, run.rates.goodput_of_bound), (0.495, 0.9));
    assert_eq!(run.refusals.drop_ratio, 0.02);
    assert_eq!(run.shed_by_reason, BTreeMap::from([("delay".into(), 2), ("no-credit".into(), 1)]));
    for (found, micros) in [
        (run.latency.p50_us, 100.0),
        (run.latency.p99_us, 200.0),
        (run.latency.p999_us, 201.0),
        (run.refusals.reject_p50_us, 40.0),
        (run.generator.lateness_p99_us, 7.0),
    ] {
        assert!((found / micros - 1.0).abs() < 1e-3, "found {found}, needed {micros}");
    }
}

#[test]
fn rates_of_a_window_that_ends_early_are_of_its_own_length() {
    let mut tally = Tally::new(spec());
    (0..40).for_each(|i| tally.served(at(1000 + i), US * 100));
    tally.end_at(at(1400));
    // Neither later than the window was to end, nor beyond its new end.
    tally.end_at(at(5000));
    tally.served(at(1400), US * 100);
    let mut run = Run::default();
    tally.finish().fill(&mut run, None);
    assert_eq!((run.fates.ok, run.rates.offered_rps, run.rates.goodput_rps), (40, 100.0, 100.0));
}

#[test]
fn partial_answers_are_no_goodput() {
    let mut tally = Tally::new(spec());
    (0..10).for_each(|i| tally.served(at(1000 + i), US * 100));
    (0..4).for_each(|i| tally.served_in_part(at(1500 + i), US * 100));
    tally.served_in_part(at(1504), US * 300);
    tally.served_in_part(at(2500), US * 100);
    let mut other = Tally::new(spec());
    other.served_in_part(at(1600), US * 100);
    tally.merge(&other);
    let mut run = Run::default();
    tally.finish().fill(&mut run, None);
    assert_eq!(run.fates, Fates { ok: 10, late: 6, ..Fates::default() });
    assert_eq!(run.answers.partial, 6, "the one outside of the window is none of them");
    assert_eq!((run.rates.throughput_rps, run.rates.goodput_rps), (16.0, 10.0));
    let series = run.series.expect("bins were asked for");
    assert!(series.goodput_rps[1] == 0.0 && series.p99_us[1] > 90.0, "{series:?}");
}

/// Recoveries counted them as goodput, and runs and series did not.
#[test]
fn no_part_of_an_answer_is_a_point_in_time() {
    let mut tally = Tally::new(spec());
    tally.served(at(1000), US * 100);
    tally.served_in_part(at(1100), US * 100);
    tally.served_in_part(at(1200), US * 300);
    tally.served(at(1300), US * 400);
    let points = tally.finish().points;
    let latencies: Vec<f32> = points.iter().map(|point| point.1.round()).collect();
    assert_eq!(latencies, [100.0, -1.0, 300.0, 400.0]);
}

#[test]
fn the_series_goes_by_intended_time() {
    let mut tally = Tally::new(spec());
    (0..98).for_each(|i| tally.served(at(1000 + i), US * 100));
    tally.served(at(1950), US * 201);
    tally.shed(at(1310), US * 40, "delay");
    tally.expired(at(1620));
    let series = tally.finish().series.expect("bins were asked for");
    let per_bin = |counts: [f64; 4]| {
        [counts[0] / 0.3, counts[1] / 0.3, counts[2] / 0.3, counts[3] / 0.1].map(f64::round)
    };
    let rounded = |values: &[f64]| values.iter().map(|v| v.round()).collect::<Vec<_>>();
    assert_eq!(series.bin_us, 300_000.0);
    assert_eq!(rounded(&series.offered_rps), per_bin([98.0, 1.0, 1.0, 1.0]));
    assert_eq!(rounded(&series.goodput_rps), per_bin([98.0, 0.0, 0.0, 0.0]));
    assert_eq!(series.p99_us[1..3], [0.0, 0.0]);
    assert!((series.p99_us[3] - 201.0).abs() < 2.01);
    assert!((series.reject_p50_us[1] - 40.0).abs() < 0.4);
    assert_eq!(series.demand_ratio.len(), 4);
}

#[test]
fn without_the_servers_count_the_drop_ratio_is_the_clients() {
    let mut tally = Tally::new(spec());
    tally.shed(at(1100), US, "delay");
    (0..3).for_each(|_| tally.served(at(1100), US));
    tally.expired(at(1100));
    let mut run = Run::default();
    tally.finish().fill(&mut run, None);
    assert_eq!(run.refusals.drop_ratio, 0.25);
    assert_eq!(run.rates.goodput_of_capacity, 0.0);
}

/// A backlog of the window is shed after it: the server's count of the window lacks it.
#[test]
fn no_more_is_dropped_than_was_received() {
    let mut tally = Tally::new(spec());
    (0..6).for_each(|_| tally.shed(at(1100), US, "delay"));
    (0..2).for_each(|_| tally.served(at(1100), US));
    let mut run = Run::default();
    tally.clone().finish().fill(&mut run, Some(5));
    assert_eq!(run.refusals.drop_ratio, 0.75);
    tally.finish().fill(&mut run, Some(12));
    assert_eq!(run.refusals.drop_ratio, 0.5, "four were received, and lost");
}

#[test]
fn only_intended_times_in_the_half_open_window_count() {
    let mut tally = Tally::new(spec());
    for (intended, inside) in [
        (Instant::from_nanos(999_999_999), 0),
        (Instant::from_nanos(1_000_000_000), 1),
        (Instant::from_nanos(1_999_999_999), 2),
        (Instant::from_nanos(2_000_000_000), 2),
    ] {
        tally.served(intended, US * 5_000_000);
        assert_eq!(tally.fates.total(), inside, "{intended:?}");
    }
}

#[test]
fn an_empty_window_divides_by_nothing() {
    let mut run = Run::default();
    Tally::new(TallySpec { to: spec().from, ..spec() }).finish().fill(&mut run, None);
    assert_eq!(
        (run.rates.offered_rps, run.refusals.drop_ratio, run.latency.p99_us),
        (0.0, 0.0, 0.0)
    );
}

/// One random request told to `tally`; returns whether it was intended inside the window.
fn random_request(rng: &mut Rng, tally: &mut Tally) -> bool {
    let intended = at(u64::from(900 + rng.below(1200)));
    let latency = US * rng.below(400);
    match rng.below(5) {
        0 => tally.served(intended, latency),
        1 => tally.shed(intended, latency, ["delay", "limit"][rng.below(2) as usize]),
        2 => tally.expired(intended),
        3 => tally.lost(intended),
        _ => tally.unsent(intended),
    }
    if rng.chance(0.5) {
        tally.late_by(intended, latency);
    }
    (spec().from..spec().to).contains(&intended)
}

#[test]
fn fates_add_up_however_requests_end_and_threads_share_them() {
    for seed in 0..20 {
        let mut rng = Rng::from_seed(seed);
        let mut threads = vec![Tally::new(spec()); 3];
        let intended =
            (0..500).filter(|i| random_request(&mut rng, &mut threads[i % 3])).count() as u64;
        let mut merged = Tally::new(spec());
        threads.iter().for_each(|tally| merged.merge(tally));
        let findings = merged.finish();
        let (fates, series) = (findings.fates, findings.series.expect("bins were asked for"));
        let in_bins = |rates: &[f64]| {
            rates.iter().zip([0.3, 0.3, 0.3, 0.1]).map(|(rate, s)| rate * s).sum::<f64>().round()
        };
        assert_eq!(fates.total(), intended, "seed {seed}");
        assert_eq!(findings.shed_by_reason.values().sum::<u64>(), fates.shed, "seed {seed}");
        assert_eq!(findings.latency.count(), fates.ok + fates.late, "seed {seed}");
        assert_eq!(findings.reject.count(), fates.shed, "seed {seed}");
        assert_eq!(in_bins(&series.offered_rps), intended as f64, "seed {seed}");
        assert_eq!(in_bins(&series.goodput_rps), fates.ok as f64, "seed {seed}");
        assert!(findings.unsent <= fates.lost, "seed {seed}");
    }
}

#[test]
#[should_panic(expected = "different specs")]
fn tallies_of_different_windows_do_not_mix() {
    Tally::new(spec()).merge(&Tally::new(TallySpec { slo: US, ..spec() }));
}

#[test]
fn classes_are_counted_by_the_second_and_a_part_of_one_at_the_end_is_left_out() {
    let mut spec = spec();
    spec.to = at(3_500);
    let (mut tally, mut other) = (Tally::new(spec), Tally::new(spec));
    for second in 0..3_u64 {
        for request in 0..10 {
            let intended = at(1_000 + 1_000 * second + request);
            tally.asked(intended, Some(1));
            // Nine, five and none of ten; as many again too late.
            let latency = if request < [9, 5, 0][second as usize] { US } else { US * 201 };
            other.answered(intended, Some(1), latency);
        }
    }
    tally.asked(at(999), Some(1));
    tally.asked(at(1_500), None);
    tally.merge(&other);
    let [none, class] = &tally.finish().classes[..] else { panic!("two classes") };
    assert!(none.offered_rps + none.share < 1e-9, "{none:?}");
    assert!((class.offered_rps - 12.0).abs() < 1e-9, "{}", class.offered_rps);
    assert!((class.goodput_rps - 5.6).abs() < 1e-9, "{}", class.goodput_rps);
    assert!((class.share - 14.0 / 30.0).abs() < 1e-9, "{}", class.share);
    assert!((class.least_share - 0.5).abs() < 1e-9, "{}", class.least_share);
}
