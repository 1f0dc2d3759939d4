//! Every constant of every profile, from its publication or from `docs/breakwater.md`; and what settings are refused.

use super::*;
use crate::breakwater::{Decrease, Judge, Span};

const SLO: Duration = Duration::from_micros(200);

const fn us(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

/// OSDI '20: §3.2.1 (target of 40 %, α, β, half at most), §3.2.3 (twice the target), §4 (an update each RTT).
fn paper() -> Config {
    Config {
        credits: true,
        law: Law::Delay,
        target_delay: us(80),
        drop_threshold: Some(us(160)),
        deadline_aware: false,
        classes: None,
        alpha: 0.001,
        beta: 0.02,
        decrease_floor: 0.5,
        increase: Increase::AtLeastOne,
        signal: Signal::OldestAge,
        growth: Growth::Always,
        reserve: false,
        refusals: None,
        interval: Interval::Measured { min: us(1), max: us(100_000) },
        pools: Pools::Shared,
        issued: Issued::Unused,
        last_credit: LastCredit::Revoked,
        pause: 0.0,
        explicit: Explicit::Random,
        demand: Demand::Speculated,
        trust: Trust::Claimed,
        idle_after: None,
        round_trip: RoundTrip::Smoothed,
        revoke_on_demand: false,
        starvation_limit: None,
        window_max: u32::MAX / 2,
        pool_min: 10,
    }
}

/// The authors' code: `bw_server.c` and `bw_config.h`.
fn artifact() -> Config {
    Config {
        increase: Increase::Carried,
        interval: Interval::Fixed(us(10)),
        issued: Issued::Outstanding,
        last_credit: LastCredit::KeptUnlessShed,
        explicit: Explicit::OldestFirst,
        revoke_on_demand: true,
        window_max: 63,
        ..paper()
    }
}

fn tuned() -> Config {
    Config {
        target_delay: us(60),
        drop_threshold: Some(us(170)),
        deadline_aware: true,
        beta: 0.005,
        increase: Increase::Fractional,
        signal: Signal::Predicted,
        growth: Growth::WhileUsed(0.9),
        reserve: true,
        interval: Interval::Turnover { min: us(20), max: us(100_000) },
        pools: Pools::PerLoop,
        issued: Issued::Outstanding,
        last_credit: LastCredit::KeptWithin(0.05),
        pause: 5.0,
        explicit: Explicit::OldestFirst,
        trust: Trust::Used,
        idle_after: Some(us(20_000)),
        round_trip: RoundTrip::Median,
        starvation_limit: Some(us(1_000_000)),
        window_max: 64,
        ..paper()
    }
}

#[test]
fn the_profiles_of_the_delay_law_are_whole() {
    assert_eq!(Config::paper(SLO, 10), paper());
    assert_eq!(Config::artifact(SLO, 10), artifact());
    assert_eq!(Config::tuned(SLO, 10), tuned());
    assert_eq!(Config::paper(SLO, 0).pool_min, 1, "a server has a core");
}

/// NSDI '23: Algorithm 1, §3.3, §4, §5.1 (134 of 200 µs are for queues).
#[test]
fn the_profiles_of_the_efficiency_law_are_whole() {
    let text = Efficiency {
        threshold: 0.1,
        drop_cap: 1.0,
        additive: 0.001,
        decrease: Decrease::Multiplicative(0.02),
        span: Span::Credits,
        judge: Judge::Difference,
        delay_steers: false,
        pool_max: u32::MAX,
    };
    let code = Efficiency {
        threshold: 0.25,
        additive: 0.0005,
        decrease: Decrease::Additive,
        span: Span::Fixed { interval: us(200), settle: us(100) },
        judge: Judge::Published,
        ..text
    };
    let ours = Efficiency {
        span: Span::RoundTrips,
        judge: Judge::Slope { memory: 32.0, spared: 0.05 },
        delay_steers: true,
        ..text
    };
    let drop_threshold = Some(us(134));
    let expected = Config { law: Law::Efficiency(text), drop_threshold, ..paper() };
    assert_eq!(Config::efficiency_paper(SLO, 10), expected);
    let growth = Growth::WhileUsed(1.0);
    let expected = Config { law: Law::Efficiency(code), drop_threshold, growth, ..artifact() };
    assert_eq!(Config::efficiency_artifact(SLO, 10), expected);
    let expected = Config { law: Law::Efficiency(ours), reserve: false, ..tuned() };
    assert_eq!(Config::efficiency_tuned(SLO, 10), expected);
}

/// Each pool has its share of the server's bounds, rounded up.
#[test]
fn pools_share_what_bounds_the_server() {
    let share = tuned().share_of(4);
    assert_eq!(share, Config { pool_min: 3, ..tuned() });
    let bounded = Efficiency { pool_max: 1_001, ..Efficiency::PAPER };
    let server = Config { law: Law::Efficiency(bounded), ..paper() };
    let law = Law::Efficiency(Efficiency { pool_max: 251, ..bounded });
    assert_eq!(server.share_of(4), Config { law, pool_min: 3, ..server });
}

#[test]
fn an_interval_is_measured_or_a_sixteenth_of_the_turnover_within_its_bounds() {
    let fixed = Config { interval: Interval::Fixed(us(7)), ..paper() };
    assert_eq!(fixed.interval_for(us(500), us(5_000)), us(7));
    let (min, max) = (us(10), us(1_000));
    let measured = Config { interval: Interval::Measured { min, max }, ..paper() };
    let of = |rtt| measured.interval_for(us(rtt), us(1_000_000));
    assert_eq!([0, 9, 10, 500, 1_001].map(of), [10, 10, 10, 500, 1_000].map(us));
    let turnover = Config { interval: Interval::Turnover { min, max }, ..paper() };
    let of = |turnover_us| turnover.interval_for(us(40), us(turnover_us));
    assert_eq!([0, 640, 656, 16_016].map(of), [40, 40, 41, 1_000].map(us));
}

#[test]
fn what_cannot_work_is_refused_by_name() {
    let interval = |min, max| Interval::Measured { min: us(min), max: us(max) };
    let turnover = Interval::Turnover { min: Duration::ZERO, max: us(5) };
    let wrong = [
        ("alpha", Config { alpha: -0.1, ..paper() }),
        ("beta", Config { beta: 1.1, ..paper() }),
        ("decrease_floor", Config { decrease_floor: f64::NAN, ..paper() }),
        ("pause", Config { pause: -1.0, ..paper() }),
        ("classes", Config { classes: Some(1.5), ..paper() }),
        ("refusals", Config { refusals: Some(1.5), ..Config::tuned(us(400), 1) }),
        ("refusals", Config { refusals: Some(0.2), ..paper() }),
        ("target_delay", Config { target_delay: Duration::ZERO, ..paper() }),
        ("drop_threshold", Config { drop_threshold: Some(Duration::ZERO), ..paper() }),
        ("growth", Config { growth: Growth::WhileUsed(1.1), ..paper() }),
        ("growth", Config { growth: Growth::WhileUsed(-0.1), ..paper() }),
        ("window_max", Config { window_max: 0, ..paper() }),
        ("pool_min", Config { pool_min: 0, ..paper() }),
        ("interval", Config { interval: interval(6, 5), ..paper() }),
        ("interval", Config { interval: interval(0, 5), ..paper() }),
        ("interval", Config { interval: turnover, ..paper() }),
        ("interval", Config { interval: Interval::Fixed(Duration::ZERO), ..paper() }),
    ];
    for (name, config) in wrong {
        assert_eq!(config.check().map_err(|error| error.setting), Err(name));
    }
    let one = Config { window_max: 1, pool_min: 1, interval: interval(5, 5), ..paper() };
    let none = Config { drop_threshold: None, growth: Growth::WhileUsed(0.0), ..paper() };
    let refusals = Config { refusals: Some(1.0), ..tuned() };
    for config in [one, none, refusals, paper(), artifact(), tuned()] {
        assert_eq!(config.check(), Ok(()));
    }
}
