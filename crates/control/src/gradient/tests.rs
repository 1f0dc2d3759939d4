//! The gradient server by its requests, and in a closed loop with a virtual clock.

use super::*;
use crate::server::{Arrival, Completion, Outcome, Reached, Reason, Verdict};
use std::collections::VecDeque;
use tailwater_core::{Class, Nanos, Rng, SessionId, Silent};

const SLO: Duration = Duration::from_micros(200);
const ID: SessionId = SessionId(0);

fn ask(shard: &mut dyn Shard, now: Instant, id: SessionId) -> Verdict {
    shard.on_request(now, id, &Arrival::default(), Duration::ZERO, &mut Silent)
}

fn done(outcome: Outcome) -> Completion {
    let reached = match outcome {
        Outcome::Shed(Reason::Limit) => Reached::Arrival,
        _ => Reached::Start,
    };
    let service = Duration::from_micros(10);
    Completion { outcome, reached, waited: Duration::ZERO, service, class: Class::default() }
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
        let served = Completion { waited: Duration::from_micros(5), ..done(Outcome::Served) };
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

/// One core of 10 µs exponential service behind the controller, first come first served.
struct Loop {
    server: Arc<Gradient>,
    shard: Box<dyn Shard>,
    rng: Rng,
    now: Instant,
    free_at: Instant,
    /// Arrival, start and end of what is inside.
    inside: VecDeque<(Instant, Instant, Instant)>,
}

#[derive(Default)]
struct Seen {
    sojourn_us: Vec<f64>,
    offered: usize,
    shed: usize,
}

impl Loop {
    fn new(config: Config) -> Self {
        let server = Arc::new(Gradient::new(config, 1).unwrap());
        let mut shard = Arc::clone(&server).shard(0);
        shard.on_open(Instant::ZERO, ID, &mut Silent);
        let (now, free_at) = (Instant::ZERO, Instant::ZERO);
        Self { server, shard, rng: Rng::from_seed(5), now, free_at, inside: VecDeque::new() }
    }

    fn run(&mut self, demand: f64, length: Duration) -> Seen {
        let end = self.now + length;
        let mut seen = Seen::default();
        while self.now < end {
            self.now = self.now + Duration::from_nanos(self.rng.exponential(1e4 / demand) as u64);
            while let Some(&(came, started, ended)) = self.inside.front()
                && ended <= self.now
            {
                self.inside.pop_front();
                let (waited, service) = (started.since(came), ended.since(started));
                let done = Completion { waited, service, ..done(Outcome::Served) };
                self.shard.on_done(ended, ID, &done);
                self.shard.on_tick(ended, Duration::ZERO, &mut Silent);
                seen.sojourn_us.push((waited + service).nanos() as f64 / 1e3);
            }
            seen.offered += 1;
            match ask(&mut *self.shard, self.now, ID) {
                Verdict::Admit => {
                    let start = self.now.max(self.free_at);
                    let service = Duration::from_nanos(self.rng.exponential(1e4) as u64);
                    self.free_at = start + service;
                    self.inside.push_back((self.now, start, self.free_at));
                }
                Verdict::Shed(reason) => {
                    seen.shed += 1;
                    self.shard.on_done(self.now, ID, &done(Outcome::Shed(reason)));
                }
                Verdict::Close(reason) => panic!("closed for {reason:?}"),
            }
        }
        seen.sojourn_us.sort_by(f64::total_cmp);
        seen
    }
}

#[test]
fn below_capacity_nothing_is_shed() {
    let mut system = Loop::new(Config::tuned(SLO, 1));
    system.run(0.5, Duration::from_secs(1));
    let seen = system.run(0.5, Duration::from_secs(1));
    assert!(seen.shed * 1_000 < seen.offered, "{} of {} shed", seen.shed, seen.offered);
}

#[test]
fn at_twice_capacity_requests_stay_half_of_the_slo_inside_and_the_core_is_busy() {
    let mut system = Loop::new(Config::tuned(SLO, 1));
    // Long enough for any drift of the usual to show: thousands of windows.
    system.run(2.0, Duration::from_secs(2));
    let seen = system.run(2.0, Duration::from_secs(1));
    let count = seen.sojourn_us.len();
    let mean = seen.sojourn_us.iter().sum::<f64>() / count as f64;
    let p99 = seen.sojourn_us[count * 99 / 100];
    assert!(count as f64 > 0.95 * 100_000.0, "{count} served in a second");
    assert!((70.0..130.0).contains(&mean) && p99 < 250.0, "mean {mean}, p99 {p99} µs");
}

#[test]
fn without_the_slo_the_usual_drifts_until_the_limit_is_at_its_bound() {
    let drifting = Config { baseline_max: None, ..Config::tuned(SLO, 1) };
    let mut system = Loop::new(drifting);
    system.run(2.0, Duration::from_secs(4));
    assert!(system.server.gauges().pool > 150, "{:?}", system.server.gauges());
}

#[test]
fn a_long_stall_is_recovered_from() {
    let mut system = Loop::new(Config::tuned(SLO, 1));
    system.run(1.5, Duration::from_millis(200));
    // The core does nothing for 100 ms; what is inside takes that long.
    system.free_at = system.free_at + Duration::from_millis(100);
    system.run(1.5, Duration::from_millis(200));
    let seen = system.run(1.5, Duration::from_secs(1));
    let count = seen.sojourn_us.len();
    assert!(count as f64 > 0.95 * 100_000.0, "{count} served in a second");
    let limit = system.server.gauges().pool;
    let after = system.run(0.5, Duration::from_secs(1));
    assert!(after.shed * 1_000 < after.offered, "{} shed at limit {limit}", after.shed);
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
