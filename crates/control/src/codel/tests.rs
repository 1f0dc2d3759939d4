//! What CoDel's shards must forget, and which queue they judge.

use super::*;
use crate::server::{Arrival, Outcome, Reached, Reason, RequestEnd, Verdict};
use tailwater_core::{Class, Instant, SessionId, Silent};

const SLO: Duration = Duration::from_micros(200);

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

fn ended(reached: Reached) -> RequestEnd {
    let outcome = Outcome::Shed(Reason::Cancelled);
    let (waited, service) = (Duration::ZERO, Duration::ZERO);
    RequestEnd { outcome, reached, waited, service, class: Class::default() }
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
