//! CoDel around a server in virtual time, and what a shard must forget.

use super::testbed::{Tally, Testbed};
use super::*;
use crate::client::{Gate, OpenGate};
use crate::server::{Arrival, Reason, Verdict};
use tailwater_core::{Instant, SessionId, Silent};

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
