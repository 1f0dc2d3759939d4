//! Algorithm 1 by table, and the pool in a closed loop around a server of two locks.

use super::super::config::Span;
use super::*;
use std::time::Duration;

const SLO: Duration = Duration::from_micros(200);

fn flow(incoming: u64, served: u64, dropped: u64) -> Flow {
    Flow { incoming, served, dropped, over: Duration::from_micros(100) }
}

fn reading(last: Flow, current: Flow) -> Reading {
    Reading { total: 400.0, issued: 400, sessions: 1_000, last, current, trend: Trend::default() }
}

/// Last and current iteration as (incoming, served), drops, and what each law makes of them.
#[test]
fn decisions_by_table() {
    use Decision::{Dropping, Efficient, Idle, Inefficient, Opposed};
    let capped = Efficiency { drop_cap: 0.2, ..Efficiency::PAPER };
    let table = [
        ((100, 100), (120, 120), 0, Efficient, Efficient),
        ((100, 100), (80, 80), 0, Efficient, Efficient),
        // Ten more bring three more: above 10 % and 25 %; then two, between; then one, at 10 %.
        ((100, 80), (110, 83), 0, Efficient, Efficient),
        ((100, 80), (110, 82), 0, Efficient, Inefficient),
        ((100, 80), (110, 81), 0, Inefficient, Inefficient),
        // Exactly 25 %: enough for the published code under rising load, not under falling.
        ((100, 80), (108, 82), 0, Efficient, Efficient),
        ((108, 82), (100, 80), 0, Efficient, Inefficient),
        ((100, 80), (110, 79), 0, Opposed, Opposed),
        ((110, 79), (100, 80), 0, Opposed, Opposed),
        ((100, 80), (110, 80), 0, Opposed, Opposed),
        ((110, 80), (100, 80), 0, Opposed, Opposed),
        // The same load and less served.
        ((100, 80), (100, 79), 0, Opposed, Opposed),
        // The same load and more served: no change of load for the paper, a gain for the code.
        ((100, 80), (100, 85), 0, Opposed, Efficient),
        ((100, 80), (0, 0), 0, Efficient, Idle),
        ((0, 0), (0, 0), 0, Opposed, Idle),
    ];
    for (last, current, dropped, paper, artifact) in table {
        let reading = reading(flow(last.0, last.1, 0), flow(current.0, current.1, dropped));
        let found = decide(Growth::Always, &Efficiency::PAPER, &reading);
        assert_eq!(found, paper, "paper: {last:?} to {current:?}");
        let found = decide(Growth::WhileUsed(1.0), &Efficiency::ARTIFACT, &reading);
        assert_eq!(found, artifact, "artifact: {last:?} to {current:?}");
    }
    let dropping = reading(flow(100, 80, 0), flow(120, 95, 25));
    assert_eq!(decide(Growth::Always, &capped, &dropping), Dropping);
    assert_eq!(decide(Growth::Always, &Efficiency::PAPER, &dropping), Efficient);
}

/// Line 11 asks for more than the cap, not for as much.
#[test]
fn as_many_drops_as_the_cap_are_no_reason_to_shrink() {
    let capped = Efficiency { drop_cap: 0.25, ..Efficiency::PAPER };
    for (dropped, expected) in [(25, Decision::Efficient), (26, Decision::Dropping)] {
        let reading = reading(flow(80, 60, 20), flow(100, 75, dropped));
        assert_eq!(decide(Growth::Always, &capped, &reading), expected, "{dropped} of 100");
    }
}

/// Shares of drops and slopes just at their limits, and a pool that heard of nobody.
#[test]
fn decisions_of_the_slope_by_table() {
    use Decision::{Dropping, Efficient, Idle, Inefficient, KeepsUp};
    let judge = Judge::Slope { memory: 8.0, spared: 0.25 };
    let law = Efficiency { judge, threshold: 0.5, drop_cap: 0.75, ..Efficiency::TUNED };
    let table = [
        (100, 0.25, 0.0, KeepsUp),
        (100, 0.26, 0.51, Efficient),
        (100, 0.26, 0.5, Inefficient),
        (100, 0.75, 0.51, Efficient),
        (100, 0.76, 0.51, Dropping),
        (0, 0.76, 0.0, Idle),
    ];
    for (incoming, dropped, covariance, expected) in table {
        let trend = Trend { incoming: 1.0, served: 1.0, dropped, variance: 1.0, covariance };
        let now = reading(Flow::default(), flow(incoming, 0, 0));
        let found = decide(Growth::Always, &law, &Reading { trend, ..now });
        assert_eq!(found, expected, "{dropped} dropped, a slope of {covariance}");
    }
}

/// Four round trips, of which one settles, from 5 µs to 100 ms each.
#[test]
fn an_iteration_lasts_four_round_trips_within_bounds() {
    let us = Duration::from_micros;
    let pace = |rtt_us| Efficiency::PAPER.pace(us(rtt_us));
    let expected = [(20, 5), (40, 10), (400_000, 100_000)];
    assert_eq!([4, 10, 200_000].map(pace), expected.map(|(all, settle)| (us(all), us(settle))));
    assert_eq!(Efficiency::ARTIFACT.pace(us(999)), (us(200), us(100)));
}

#[test]
fn the_published_code_does_not_grow_a_pool_that_is_not_used() {
    let unused = Reading { issued: 399, ..reading(flow(100, 100, 0), flow(120, 120, 0)) };
    let decide = |growth| decide(growth, &Efficiency::ARTIFACT, &unused);
    assert_eq!(decide(Growth::WhileUsed(1.0)), Decision::Unused);
    assert_eq!(decide(Growth::Always), Decision::Efficient);
}

#[test]
fn steps_are_those_of_the_profile_within_both_bounds() {
    let (paper, artifact) =
        (Config::efficiency_paper(SLO, 10), Config::efficiency_artifact(SLO, 10));
    let next = |config: &Config, law: &Efficiency, reading: &Reading, decision| {
        (100.0 * resize(config, law, reading, decision)).round() / 100.0
    };
    let now = reading(Flow::default(), Flow::default());
    let crowd = Reading { sessions: 5_000, ..now };
    let cases = [
        (&paper, &Efficiency::PAPER, now, Decision::Efficient, 401.0),
        (&paper, &Efficiency::PAPER, crowd, Decision::Efficient, 405.0),
        (&paper, &Efficiency::PAPER, now, Decision::Inefficient, 392.0),
        (&artifact, &Efficiency::ARTIFACT, now, Decision::Efficient, 401.0),
        (&artifact, &Efficiency::ARTIFACT, crowd, Decision::Opposed, 397.5),
        (&artifact, &Efficiency::ARTIFACT, now, Decision::Unused, 399.0),
        (&artifact, &Efficiency::TUNED, now, Decision::Efficient, 400.0),
        (&artifact, &Efficiency::TUNED, now, Decision::Inefficient, 392.0),
    ];
    for (config, law, reading, decision, expected) in cases {
        let found = next(config, law, &reading, decision);
        assert!((found - expected).abs() < 1e-9, "{decision:?}: {found}, not {expected}");
    }
    let low = Reading { total: 10.0, ..now };
    assert_eq!(next(&paper, &Efficiency::PAPER, &low, Decision::Opposed), 10.0, "C_min");
    let bounded = Efficiency { pool_max: 400, ..Efficiency::PAPER };
    assert_eq!(next(&paper, &bounded, &now, Decision::Efficient), 400.0, "C_max");
}

#[test]
fn settings_that_cannot_work_are_named() {
    let tuned = Efficiency::TUNED;
    let wrong = [
        Efficiency { threshold: 1.5, ..tuned },
        Efficiency { drop_cap: f64::NAN, ..tuned },
        Efficiency { additive: -1.0, ..tuned },
        Efficiency { decrease: Decrease::Multiplicative(2.0), ..tuned },
        Efficiency { judge: Judge::Slope { memory: 0.5, spared: 0.0 }, ..tuned },
        Efficiency { judge: Judge::Slope { memory: f64::INFINITY, spared: 0.0 }, ..tuned },
        Efficiency { judge: Judge::Slope { memory: 8.0, spared: 7.0 }, ..tuned },
        Efficiency { span: Span::Fixed { interval: SLO, settle: SLO }, ..tuned },
    ];
    let names = [
        "efficiency_threshold",
        "drop_cap",
        "additive",
        "decrease",
        "memory",
        "memory",
        "spared_drops",
        "settle",
    ];
    for (law, name) in wrong.into_iter().zip(names) {
        assert_eq!(law.check().map_err(|error| error.setting), Err(name));
    }
    let shortest = Efficiency { judge: Judge::Slope { memory: 1.0, spared: 0.0 }, ..tuned };
    let sound = [tuned, shortest, Efficiency::PAPER, Efficiency::ARTIFACT];
    assert!(sound.iter().all(|law| law.check().is_ok()));
}
