//! The gradient server by its requests.

use super::*;
use crate::server::{Arrival, Outcome, Reached, Reason, RequestEnd, Verdict};
use tailwater_core::{Class, SessionId, Silent};

const ID: SessionId = SessionId(0);

fn ask(shard: &mut dyn Shard, now: Instant, id: SessionId) -> Verdict {
    shard.on_request(now, id, &Arrival::default(), Duration::ZERO, &mut Silent)
}

fn done(outcome: Outcome) -> RequestEnd {
    let reached = match outcome {
        Outcome::Shed(Reason::Limit) => Reached::Arrival,
        _ => Reached::Handler,
    };
    let service = Duration::from_micros(10);
    RequestEnd { outcome, reached, waited: Duration::ZERO, service, class: Class::default() }
}

/// Two loops with a connection each under one limit of 20.
fn two_loops() -> (Arc<Gradient>, Vec<Box<dyn Shard>>) {
    let server = Arc::new(Gradient::new(Config::artifact(), 2).unwrap());
    let mut shards: Vec<_> = (0..2).map(|index| Arc::clone(&server).shard(index)).collect();
    for shard in &mut shards {
        shard.on_open(Instant::ZERO, ID, &mut Silent);
    }
    (server, shards)
}

#[test]
fn loops_share_one_limit_and_an_answer_frees_a_place() {
    let (server, mut shards) = two_loops();
    for n in 0..20 {
        assert_eq!(ask(&mut *shards[n % 2], Instant::ZERO, ID), Verdict::Admit);
    }
    for shard in &mut shards {
        assert_eq!(ask(&mut **shard, Instant::ZERO, ID), Verdict::Shed(Reason::Limit));
        shard.on_done(Instant::ZERO, ID, &done(Outcome::Shed(Reason::Limit)));
    }
    assert_eq!(server.gauges().issued, 20, "a reject frees nothing");
    shards[0].on_done(Instant::ZERO, ID, &done(Outcome::Served));
    assert_eq!(ask(&mut *shards[1], Instant::ZERO, ID), Verdict::Admit);
    shards[1].on_done(Instant::ZERO, ID, &done(Outcome::Shed(Reason::Lock)));
    assert_eq!(server.gauges().issued, 19, "refused in the handler, it held a place");
    for shard in &mut shards {
        shard.on_close(Instant::ZERO, ID, &mut Silent);
    }
    assert_eq!(server.gauges().issued, 0);
}

/// Invariant 5 of ARCHITECTURE.md: a request meets no lock. Held here by a stalled loop's tick, the
/// learner keeps nobody from being served and counted.
#[test]
fn requests_are_counted_while_another_loop_learns() {
    let config = Config { sample_floor: Duration::ZERO, window_samples: 8, ..Config::artifact() };
    let server = Arc::new(Gradient::new(config, 2).unwrap());
    let mut shards: Vec<_> = (0..2).map(|index| Arc::clone(&server).shard(index)).collect();
    for shard in &mut shards {
        shard.on_open(Instant::ZERO, ID, &mut Silent);
    }
    let held = server.shared.learner.lock().unwrap();
    for n in 0..8 {
        let shard = &mut shards[n % 2];
        assert_eq!(ask(&mut **shard, Instant::ZERO, ID), Verdict::Admit);
        let served = RequestEnd { waited: Duration::from_micros(5), ..done(Outcome::Served) };
        shard.on_done(Instant::ZERO, ID, &served);
        shard.on_tick(Instant::ZERO, Duration::ZERO, &mut Silent);
    }
    drop(held);
    let later = Instant::ZERO + config.span_max;
    shards[0].on_tick(Instant::ZERO, Duration::ZERO, &mut Silent);
    shards[1].on_tick(later, Duration::ZERO, &mut Silent);
    let gauges = server.gauges();
    assert_eq!((gauges.delay, gauges.issued), (Duration::from_micros(5), 0), "all eight counted");
}

#[test]
fn a_dry_run_leaves_nothing_inside() {
    let (server, mut shards) = two_loops();
    let shard = &mut *shards[0];
    // All forty are served, although every second was refused.
    for _ in 0..40 {
        ask(shard, Instant::ZERO, ID);
    }
    assert_eq!(server.gauges().issued, 20);
    for _ in 0..40 {
        shard.on_done(Instant::ZERO, ID, &done(Outcome::Served));
    }
    assert_eq!(server.gauges().issued, 0);
    shard.on_done(Instant::ZERO, ID, &done(Outcome::Served));
    assert_eq!(server.gauges().issued, 0, "an answer to nothing counts for nothing");
}

#[test]
fn as_shipped_a_server_of_microseconds_never_moves_its_limit() {
    let (server, mut shards) = two_loops();
    for n in 0..100_000 {
        let now = Instant::from_nanos(n * 100_000);
        ask(&mut *shards[0], now, ID);
        shards[0].on_done(now, ID, &done(Outcome::Served));
        shards[1].on_tick(now, Duration::ZERO, &mut Silent);
    }
    assert_eq!(server.gauges().pool, 20);
}

/// An answer takes a place back while its session has one, also in a dry run where others were refused.
#[test]
fn places_come_back_before_refusals_are_settled() {
    let (server, mut shards) = two_loops();
    let shard = &mut *shards[0];
    (0..22).for_each(|_| _ = ask(shard, Instant::ZERO, ID));
    let issued = [Outcome::Served, Outcome::Shed(Reason::Limit), Outcome::Served].map(|outcome| {
        shard.on_done(Instant::ZERO, ID, &done(outcome));
        server.gauges().issued
    });
    assert_eq!(issued, [19, 19, 18]);
    // The second refusal, and then one for the limit of something behind the handler: it held a place.
    let issued = [(); 2].map(|()| {
        shard.on_done(Instant::ZERO, ID, &done(Outcome::Shed(Reason::Limit)));
        server.gauges().issued
    });
    assert_eq!(issued, [18, 17]);
}

#[test]
fn a_server_says_its_name_and_its_loops() {
    let server = Gradient::new(Config::paper(), 3).unwrap();
    assert_eq!((server.name(), server.shards()), ("gradient", Some(3)));
    let start = Gauges { pool: 20, ..Gauges::default() };
    assert_eq!(server.gauges(), start);
}
