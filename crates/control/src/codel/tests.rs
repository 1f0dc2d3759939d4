//! CoDel around a server in virtual time, and what a shard must forget.

use super::testbed::{Tally, Testbed};
use super::*;
use crate::client::{Gate, OpenGate};
use crate::server::{Arrival, Completion, Outcome, Reached, Reason, Verdict};
use tailwater_core::{Class, Instant, SessionId, Silent};

const SLO: Duration = Duration::from_micros(200);

fn testbed(config: Config) -> Testbed {
    let gates = (0..10).map(|_| Box::new(OpenGate) as Box<dyn Gate>).collect();
    Testbed::new(Arc::new(Codel::new(config, 1).unwrap()), gates, 7)
}

fn run(config: Config, load: f64) -> Tally {
    testbed(config).run(load, Duration::from_millis(400))
}

#[test]
fn at_half_load_nothing_is_shed() {
    let tally = run(Config::paper(SLO), 0.5);
    assert!(tally.served > 9_000 && tally.shed == 0, "{tally:?}");
    // Half an SLO of waits above the target is rare at half load, but possible.
    let tally = run(Config::tuned(SLO), 0.5);
    assert!(tally.served > 9_000 && tally.shed < 10, "{tally:?}");
}

#[test]
fn at_twice_the_load_half_is_shed_and_the_wait_settles_between_target_and_ceiling() {
    let tally = run(Config::tuned(SLO), 2.0);
    assert!((80.0..160.0).contains(&tally.mean_wait_us()), "{tally:?}");
    assert!(tally.waited_max < Duration::from_micros(160 + 150), "{tally:?}");
    assert!(f64::from(tally.shed) > 0.47 * f64::from(tally.offered), "{tally:?}");
    assert!(tally.served > 19_000, "sheds cost nothing here: the server is never idle, {tally:?}");
}

#[test]
fn the_law_alone_holds_a_load_that_does_not_react_but_far_above_the_target() {
    let alone = run(Config::paper(SLO), 2.0);
    let tuned = run(Config::tuned(SLO), 2.0);
    assert!(f64::from(alone.shed) > 0.45 * f64::from(alone.offered), "{alone:?}");
    assert!((160.0..2_000.0).contains(&alone.mean_wait_us()), "{alone:?}");
    assert!(tuned.in_time > 3 * alone.in_time, "{tuned:?} {alone:?}");
}

#[test]
fn overload_is_forgotten_when_it_is_over() {
    let mut testbed = testbed(Config::tuned(SLO));
    assert!(testbed.run(3.0, Duration::from_millis(100)).shed > 1_000);
    let after = testbed.run(0.5, Duration::from_millis(100));
    assert_eq!(after.shed, 0, "{after:?}");
}

/// A shard in the dropping state with two requests of a second session still queued.
fn dropping() -> (Box<dyn Shard>, Instant) {
    let mut shard = Arc::new(Codel::new(Config::tuned(SLO), 1).unwrap()).shard(0);
    let mut now = Instant::ZERO;
    for id in [0, 1] {
        shard.on_open(now, SessionId(id), &mut Silent);
    }
    for id in [0, 0, 0, 1, 1] {
        shard.on_request(now, SessionId(id), &Arrival::default(), Duration::ZERO, &mut Silent);
    }
    let mut verdicts = Vec::new();
    for _ in 0..3 {
        now = now + Duration::from_micros(150);
        let waited = now.since(Instant::ZERO);
        verdicts.push(shard.on_start(now, SessionId(0), waited, None, &mut Silent));
    }
    let shed = Verdict::Shed(Reason::Delay);
    assert_eq!(verdicts, [Verdict::Admit, shed, shed]);
    (shard, now)
}

#[test]
fn a_lost_connection_takes_its_requests_out_of_the_queue() {
    let (mut shard, now) = dropping();
    shard.on_close(now, SessionId(1), &mut Silent);
    shard.on_request(now, SessionId(0), &Arrival::default(), Duration::ZERO, &mut Silent);
    let waited = Duration::from_micros(500);
    let verdict = shard.on_start(now + waited, SessionId(0), waited, None, &mut Silent);
    assert_eq!(verdict, Verdict::Admit, "nothing waits behind it");
}

#[test]
fn each_loop_judges_its_own_queue() {
    let codel = Arc::new(Codel::new(Config::tuned(SLO), 2).unwrap());
    let mut verdicts = Vec::new();
    for index in 0..2 {
        let mut shard = Arc::clone(&codel).shard(index);
        shard.on_open(Instant::ZERO, SessionId(0), &mut Silent);
        for _ in 0..3 {
            let arrival = Arrival::default();
            shard.on_request(Instant::ZERO, SessionId(0), &arrival, Duration::ZERO, &mut Silent);
        }
        let late = Duration::from_micros(if index == 0 { 150 } else { 20 });
        for round in 1..=2 {
            let waited = late * round;
            let now = Instant::ZERO + waited;
            verdicts.push(shard.on_start(now, SessionId(0), waited, None, &mut Silent));
        }
    }
    let shed = Verdict::Shed(Reason::Delay);
    assert_eq!(verdicts, [Verdict::Admit, shed, Verdict::Admit, Verdict::Admit]);
    assert_eq!(codel.gauges().delay, Duration::from_micros(300));
}

fn request(shard: &mut dyn Shard, id: u32) {
    let arrival = Arrival::default();
    shard.on_request(Instant::ZERO, SessionId(id), &arrival, Duration::ZERO, &mut Silent);
}

/// What becomes of the next request of the session, which starts now and has waited for half a millisecond.
fn start(shard: &mut dyn Shard, now: Instant, id: u32) -> Verdict {
    shard.on_start(now, SessionId(id), Duration::from_micros(500), None, &mut Silent)
}

fn ended(reached: Reached) -> Completion {
    let outcome = Outcome::Shed(Reason::Cancelled);
    let (waited, service) = (Duration::ZERO, Duration::ZERO);
    Completion { outcome, reached, waited, service, class: Class::default() }
}

const SHED: Verdict = Verdict::Shed(Reason::Delay);

/// In the dropping state with two requests of the second session. They end before they start, and two more come:
/// the first of those begins an interval of its own.
#[test]
fn a_queue_that_drained_without_a_start_begins_anew() {
    for by_close in [true, false] {
        let (mut shard, now) = dropping();
        if by_close {
            shard.on_close(now, SessionId(1), &mut Silent);
        } else {
            (0..2).for_each(|_| _ = shard.on_done(now, SessionId(1), &ended(Reached::Queue)));
        }
        (0..3).for_each(|_| request(&mut *shard, 0));
        assert_eq!(start(&mut *shard, now, 0), Verdict::Admit, "closed: {by_close}");
        let later = now + Duration::from_micros(100);
        assert_eq!(start(&mut *shard, later, 0), SHED, "closed: {by_close}");
    }
}

#[test]
fn a_queue_that_is_not_empty_yet_goes_on_shedding() {
    let (mut shard, now) = dropping();
    request(&mut *shard, 0);
    shard.on_done(now, SessionId(1), &ended(Reached::Queue));
    assert_eq!(start(&mut *shard, now, 1), SHED, "one of another session waits behind it");
    assert_eq!(start(&mut *shard, now, 0), Verdict::Admit, "nothing waits behind it");
}

/// Three of the session's requests have started already: what is lost with it are the two that waited.
#[test]
fn what_has_started_is_not_taken_out_of_the_queue_again() {
    let (mut shard, now) = dropping();
    (0..2).for_each(|_| request(&mut *shard, 0));
    shard.on_done(now, SessionId(0), &ended(Reached::Start));
    shard.on_close(now, SessionId(0), &mut Silent);
    assert_eq!(start(&mut *shard, now, 1), SHED, "one waits behind it");
    assert_eq!(start(&mut *shard, now, 1), Verdict::Admit, "none waits behind it");
}

#[test]
fn an_idle_loop_reads_its_delay_and_a_busy_one_its_last_wait() {
    let codel = Arc::new(Codel::new(Config::tuned(SLO), 3).unwrap());
    assert_eq!((codel.name(), codel.shards()), ("codel", Some(3)));
    let mut shard = Arc::clone(&codel).shard(2);
    shard.on_open(Instant::ZERO, SessionId(4), &mut Silent);
    let us = Duration::from_micros;
    shard.on_tick(Instant::ZERO, us(7), &mut Silent);
    assert_eq!(codel.gauges(), Gauges { delay: us(7), ..Gauges::default() });
    (0..2).for_each(|_| request(&mut *shard, 4));
    shard.on_tick(Instant::ZERO, us(9), &mut Silent);
    assert_eq!(codel.gauges().delay, us(7), "they have not started");
    start(&mut *shard, Instant::ZERO, 4);
    shard.on_tick(Instant::ZERO, us(9), &mut Silent);
    assert_eq!(codel.gauges().delay, us(500));
    start(&mut *shard, Instant::ZERO, 4);
    shard.on_tick(Instant::ZERO, us(9), &mut Silent);
    assert_eq!(codel.gauges().delay, us(9));
}
