//! Requests that cannot be in time any more: refused on arrival and at start, where the profile looks at
//! deadlines.

use super::*;

fn us(micros: f64) -> Duration {
    Duration::from_secs_f64(micros / 1e6)
}

/// A session with a round trip of 8 µs, at a server whose requests take `service_us`.
fn taught(config: Config, service_us: f64) -> BreakwaterShard {
    let mut shard = own_shard(config);
    shard.on_open(Instant::ZERO, ID, &mut Silent);
    (0..3_000).for_each(|_| shard.service.learn(us(service_us)));
    shard.sessions[ID.index()].rtt_ns = 8_000;
    shard
}

fn arrive(shard: &mut BreakwaterShard, budget_us: f64, hidden_us: f64) -> Verdict {
    let (time_left, hidden) = (Some(us(budget_us)), us(hidden_us));
    let arrival = Arrival { register: true, time_left, hidden, ..Arrival::default() };
    let acked = shard.sessions[ID.index()].seq;
    let arrival = Arrival { acked, ..arrival };
    let verdict = shard.on_request(Instant::ZERO, ID, &arrival, Duration::ZERO, &mut Silent);
    // It is answered, whatever becomes of it, so that the next one has its credit.
    let (outcome, reached) = match verdict {
        Verdict::Shed(reason) => (Outcome::Shed(reason), Reached::Arrival),
        _ => (Outcome::Shed(Reason::QueueFull), Reached::Queue),
    };
    let (waited, service) = (Duration::ZERO, Duration::ZERO);
    let done = RequestEnd { outcome, reached, waited, service, class: Class::default() };
    shard.on_done(Instant::ZERO, ID, &done);
    verdict
}

fn start(shard: &mut BreakwaterShard, budget_us: f64, waited_us: f64) -> Verdict {
    let (waited, time_left) = (us(waited_us), Some(us(budget_us)));
    shard.on_start(Instant::ZERO, ID, waited, time_left, &mut Silent)
}

const LATE: Verdict = Verdict::Shed(Reason::Deadline);

/// 10 µs of service, give or take the steps in which it is learnt, and 4 µs back.
#[test]
fn what_is_left_must_suffice_for_service_and_the_way_back() {
    let mut shard = taught(Config::tuned(SLO, 1), 10.0);
    assert_eq!([13.5, 14.5].map(|left| start(&mut shard, left, 0.0)), [LATE, Verdict::Admit]);
    assert_eq!([13.5, 14.5].map(|left| arrive(&mut shard, left, 0.0)), [LATE, Verdict::Admit]);
}

#[test]
fn what_waits_before_it_counts_on_arrival_or_what_it_waited_unseen_if_that_was_longer() {
    let mut shard = taught(Config::tuned(SLO, 1), 10.0);
    (0..3).for_each(|_| shard.predicted.join());
    [10_000, 20_000].into_iter().for_each(|at_ns| {
        shard.predicted.complete(Instant::from_nanos(at_ns));
    });
    assert_eq!(shard.predicted.wait(), us(30.0));
    assert_eq!([43.5, 44.5].map(|left| arrive(&mut shard, left, 0.0)), [LATE, Verdict::Admit]);
    assert_eq!([43.5, 44.5].map(|left| arrive(&mut shard, left, 29.0)), [LATE, Verdict::Admit]);
    assert_eq!([63.5, 64.5].map(|left| arrive(&mut shard, left, 50.0)), [LATE, Verdict::Admit]);
    assert_eq!([13.5, 14.5].map(|left| start(&mut shard, left, 30.0)), [LATE, Verdict::Admit]);
}

/// The estimate is renewed by serving alone. Of a target of 60 µs half counts.
#[test]
fn an_estimate_never_refuses_everything() {
    let mut shard = taught(Config::tuned(SLO, 1), 5_000.0);
    assert_eq!([29.9, 30.0].map(|left| start(&mut shard, left, 0.0)), [LATE, Verdict::Admit]);
    assert_eq!([29.9, 30.0].map(|left| arrive(&mut shard, left, 0.0)), [LATE, Verdict::Admit]);
}

#[test]
fn the_published_profiles_look_at_no_deadline() {
    for config in [Config::paper(SLO, 1), Config::artifact(SLO, 1)] {
        let mut shard = taught(config, 10.0);
        assert_eq!(start(&mut shard, 0.0, 1_000.0), Verdict::Admit);
        assert_eq!(arrive(&mut shard, 0.0, 1_000.0), Verdict::Admit);
    }
}

/// A request that was hopeless when it left its client says nothing of the queue. The target is 60 µs.
#[test]
fn only_those_that_the_queue_made_late_count_against_the_pool() {
    let shed_by_queue = |refuse: &dyn Fn(&mut BreakwaterShard) -> Verdict| {
        let mut shard = taught(Config::tuned(SLO, 1), 10.0);
        assert_eq!(refuse(&mut shard), LATE);
        shard.tally.shed
    };
    for (waited_us, counted) in [(59.9, 0), (60.0, 1)] {
        assert_eq!(shed_by_queue(&|shard| start(shard, 1.0, waited_us)), counted, "at start");
        assert_eq!(shed_by_queue(&|shard| arrive(shard, 1.0, waited_us)), counted, "on arrival");
    }
}

/// Until it has one it is judged by that of the others.
#[test]
fn where_a_session_has_no_round_trip_of_its_own_that_of_the_pool_counts() {
    let mut shard = taught(Config::tuned(SLO, 1), 10.0);
    shard.pool.on_median(0, us(16.0));
    shard.sessions[ID.index()].rtt_ns = 0;
    assert_eq!([17.5, 18.5].map(|left| start(&mut shard, left, 0.0)), [LATE, Verdict::Admit]);
    shard.sessions[ID.index()].rtt_ns = 1;
    assert_eq!([9.5, 10.5].map(|left| start(&mut shard, left, 0.0)), [LATE, Verdict::Admit]);
}
