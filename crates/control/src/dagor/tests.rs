//! DAGOR's server by what it is told, and what must not stop it from recovering.

use super::*;
use crate::server::{Arrival, Outcome, Reached, Reason, RequestEnd, Verdict};
use proptest::prelude::*;
use std::time::Duration;
use tailwater_core::{Class, Instant, SessionId, Silent};

const SLO: Duration = Duration::from_micros(200);

fn dagor(config: Config) -> Arc<Dagor> {
    Arc::new(Dagor::new(config, 1).unwrap())
}

fn shed_everything(config: Config) -> (Arc<Dagor>, Box<dyn Shard>, Instant) {
    let dagor = dagor(config);
    let mut shard = Arc::<Dagor>::clone(&dagor).shard(0);
    let mut now = Instant::from_nanos(1);
    shard.on_open(now, SessionId(0), &mut Silent);
    for _ in 0..400 {
        let important = Arrival::default();
        shard.on_request(now, SessionId(0), &important, Duration::ZERO, &mut Silent);
        shard.on_start(now, SessionId(0), SLO * 10, None, &mut Silent);
        now = now + config.update_every;
        shard.on_tick(now, SLO * 10, &mut Silent);
    }
    (dagor, shard, now)
}

#[test]
fn a_server_that_sheds_all_it_can_recovers_though_nothing_completes() {
    for config in [Config::paper(SLO), Config::tuned(SLO), Config::original()] {
        let slow = Config { delay_limit: SLO, ..config };
        let (dagor, mut shard, mut now) = shed_everything(slow);
        assert!(dagor.level() <= 1, "{}", dagor.level());
        let important = Arrival { priority: 0, ..Arrival::default() };
        let verdict = shard.on_request(now, SessionId(0), &important, Duration::ZERO, &mut Silent);
        assert_eq!(verdict, Verdict::Admit, "of the first level");
        // Only what is shed arrives: no request starts, none completes.
        let hopeless = Arrival { priority: 255, ..Arrival::default() };
        let mut rounds = 0;
        while shard.on_request(now, SessionId(0), &hopeless, Duration::ZERO, &mut Silent)
            == Verdict::Shed(Reason::Priority)
        {
            now = now + config.update_every;
            shard.on_tick(now, Duration::ZERO, &mut Silent);
            rounds += 1;
            assert!(rounds <= 130, "level {} after {rounds} windows", dagor.level());
        }
    }
}

#[test]
fn an_idle_server_asks_for_ticks_until_it_admits_all() {
    let (dagor, mut shard, mut now) = shed_everything(Config::paper(SLO));
    let mut ticks = 0;
    while let Some(at) = shard.next_deadline(now) {
        now = at;
        shard.on_tick(now, Duration::ZERO, &mut Silent);
        ticks += 1;
        assert!(ticks < 300, "level {}", dagor.level());
    }
    assert_eq!(dagor.level(), 127);
}

#[test]
fn rejects_carry_the_threshold_as_well() {
    let (_, mut shard, now) = shed_everything(Config::paper(SLO));
    let shed = Outcome::Shed(Reason::Priority);
    for outcome in [shed, Outcome::Served] {
        let reached = if outcome == shed { Reached::Arrival } else { Reached::Handler };
        let (waited, service) = (Duration::ZERO, Duration::ZERO);
        let done = RequestEnd { outcome, reached, waited, service, class: Class::default() };
        let offer = shard.on_done(now, SessionId(0), &done);
        assert_eq!((offer.level, offer.window), (4, u32::MAX), "levels 0 and 1, 2 priorities each");
    }
}

#[test]
fn two_thousand_requests_end_a_window_early_and_a_late_loop_makes_one_update() {
    let artifact = Config::artifact(SLO);
    let dagor = dagor(artifact);
    let mut shard = Arc::<Dagor>::clone(&dagor).shard(0);
    let at = |us: u64| Instant::from_nanos(1_000_000_000 + us * 1_000);
    shard.on_tick(at(0), Duration::ZERO, &mut Silent);
    let arrive = |shard: &mut dyn Shard, us: u64, count: u32| {
        for _ in 0..count {
            let arrival = Arrival::default();
            shard.on_request(at(us), SessionId(0), &arrival, Duration::ZERO, &mut Silent);
        }
        shard.on_tick(at(us), Duration::ZERO, &mut Silent);
    };
    arrive(shard.as_mut(), 100, 1_999);
    assert_eq!(dagor.level(), 32);
    arrive(shard.as_mut(), 200, 1);
    assert_eq!(dagor.level(), 33, "32 + 1.28");
    arrive(shard.as_mut(), 100_200, 0);
    assert_eq!(dagor.level(), 34, "a hundred windows late");
}

#[test]
fn the_slowest_loop_counts_until_it_ticks_again() {
    let dagor = Arc::new(Dagor::new(Config::artifact(SLO), 2).unwrap());
    let mut slow = Arc::<Dagor>::clone(&dagor).shard(0);
    let mut fast = Arc::<Dagor>::clone(&dagor).shard(1);
    let at = |us: u64| Instant::from_nanos(1_000_000_000 + us * 1_000);
    slow.on_tick(at(0), SLO, &mut Silent);
    for us in (10..=1_000).step_by(10) {
        fast.on_tick(at(us), Duration::ZERO, &mut Silent);
    }
    assert_eq!(dagor.level(), 30, "32 less 5 %");
    assert!(dagor.gauges().delay > SLO.mul_f64(0.9), "{:?}", dagor.gauges().delay);
}

proptest! {
    #[test]
    fn whatever_comes_the_level_stays_in_range_and_the_server_opens_again(
        histogram: bool,
        events in prop::collection::vec((any::<u8>(), 0_u64..500, 0_u64..2_000), 1..300),
    ) {
        let config = if histogram { Config::tuned(SLO) } else { Config::artifact(SLO) };
        let dagor = dagor(config);
        let mut shard = Arc::<Dagor>::clone(&dagor).shard(0);
        let mut now = Instant::from_nanos(1);
        for (priority, delay_us, gap_us) in events {
            let delay = Duration::from_micros(delay_us);
            let arrival = Arrival { priority, ..Arrival::default() };
            if shard.on_request(now, SessionId(0), &arrival, delay, &mut Silent) == Verdict::Admit {
                shard.on_start(now, SessionId(0), delay, None, &mut Silent);
            }
            shard.on_tick(now, delay, &mut Silent);
            let lowest = u16::from(!histogram);
            prop_assert!((lowest..=config.levels.top()).contains(&dagor.level()));
            now = now + Duration::from_micros(gap_us);
        }
        for _ in 0..300 {
            now = now + config.update_every;
            shard.on_tick(now, Duration::ZERO, &mut Silent);
        }
        prop_assert_eq!(dagor.level(), config.levels.top());
    }
}

/// A request that waited past its deadline has waited longest of all; one that ended otherwise tells of no wait.
#[test]
fn what_waited_past_its_deadline_counts_into_the_mean_and_nothing_else_that_did_not_start() {
    use Reached::{Arrival as Refused, Handler, Queue, Start};
    let deadline = Outcome::Shed(Reason::Deadline);
    let cancelled = Outcome::Shed(Reason::Cancelled);
    let table = [
        (deadline, Queue, true),
        (deadline, Start, false),
        (deadline, Refused, false),
        (cancelled, Queue, false),
        (Outcome::Served, Handler, false),
    ];
    for (outcome, reached, counts) in table {
        let config = Config { start_level: 200, ..Config::tuned(SLO) };
        let dagor = dagor(config);
        let mut shard = Arc::<Dagor>::clone(&dagor).shard(0);
        let now = Instant::from_nanos(1_000_000_000);
        shard.on_tick(now, Duration::ZERO, &mut Silent);
        let arrival = Arrival { priority: 200, ..Arrival::default() };
        shard.on_request(now, SessionId(0), &arrival, Duration::ZERO, &mut Silent);
        let (waited, service) = (10 * SLO, Duration::ZERO);
        let done = RequestEnd { outcome, reached, waited, service, class: Class::default() };
        shard.on_done(now, SessionId(0), &done);
        shard.on_tick(now + config.update_every, Duration::ZERO, &mut Silent);
        let seen = dagor.gauges().delay;
        assert_eq!(seen, if counts { waited } else { Duration::ZERO }, "{outcome:?}, {reached:?}");
    }
}

#[test]
fn a_server_says_its_name_and_its_loops() {
    let dagor = Dagor::new(Config::paper(SLO), 3).unwrap();
    assert_eq!((dagor.name(), dagor.shards()), ("dagor", Some(3)));
}
