//! Deadlines where the AQM knows classes: what waits before a request and what its class costs, to the nanosecond.
//!
//! An objective of 1.3 ms is a target of 390 µs, and requests are shed for a delay of 1,105 µs.

use super::*;

const LONG_SLO: Duration = Duration::from_micros(1_300);
const SHORT: Class = Class::of(MethodId(1));
const LONG: Class = Class::of(MethodId(2));
const LATE: Verdict = Verdict::Shed(Reason::Deadline);

fn us(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

fn config(least: f64) -> Config {
    Config { credits: false, classes: Some(least), ..Config::tuned(LONG_SLO, 1) }
}

/// It has served one request of either class, in 25 and `long_us` microseconds.
fn taught(config: Config, long_us: u64) -> BreakwaterShard {
    let mut shard = own_shard(config);
    shard.on_open(Instant::ZERO, ID, &mut Silent);
    for (class, service) in [(SHORT, us(25)), (LONG, us(long_us))] {
        let (outcome, reached) = (Outcome::Served, Reached::Handler);
        let done = RequestEnd { outcome, reached, waited: Duration::ZERO, service, class };
        shard.on_done(Instant::ZERO, ID, &done);
    }
    shard
}

fn ask_for(shard: &mut BreakwaterShard, class: Class, time_left: Option<Duration>) -> Verdict {
    let arrival = Arrival { class, time_left, hidden: us(10), ..Arrival::default() };
    shard.on_request(Instant::ZERO, ID, &arrival, Duration::ZERO, &mut Silent)
}

/// Two short ones came, of which one runs: 50 µs of work stand before the next.
fn busy(config: Config) -> BreakwaterShard {
    let mut shard = taught(config, 400);
    (0..2).for_each(|_| assert_eq!(ask_for(&mut shard, SHORT, None), Verdict::Admit));
    shard.on_start(Instant::ZERO, ID, Duration::ZERO, None, &mut Silent);
    shard
}

/// Whether it is admitted with so much left, and with a nanosecond less.
fn around(config: Config, class: Class, time_left: Duration) -> [Verdict; 2] {
    [time_left, time_left - Duration::from_nanos(1)].map(|left| {
        let mut shard = busy(config);
        shard.sessions[ID.index()].rtt_ns = 8_000;
        ask_for(&mut shard, class, Some(left))
    })
}

#[test]
fn what_waits_what_was_waited_unseen_and_the_classes_own_cost_must_fit() {
    // 10 + 50, and 25 or 400, and 4 for the way back.
    assert_eq!(around(config(0.0), SHORT, us(89)), [Verdict::Admit, LATE]);
    assert_eq!(around(config(0.0), LONG, us(464)), [Verdict::Admit, LATE]);
    // Without a threshold a cost counts up to half of the target.
    let never = Config { drop_threshold: None, ..config(0.0) };
    assert_eq!(around(never, LONG, us(10 + 50 + 195)), [Verdict::Admit, LATE]);
}

/// A class that lacks its share and could never be in time by its cost is served while what waits lets it.
#[test]
fn a_cost_is_learnt_anew_by_a_class_that_lacks_its_share() {
    // Not for its cost, of 404 µs, but for the 60 before it.
    assert_eq!(around(config(1.0), LONG, us(60)), [Verdict::Admit, LATE]);
    assert_eq!(around(config(1.0), LONG, us(404)), [LATE, Verdict::Admit], "it could be in time");
    assert_eq!(around(config(0.0), LONG, us(60)), [LATE; 2], "it lacks nothing");
}

/// A request that takes 2 ms runs, and none waits: the next has a look at its own time alone.
#[test]
fn what_runs_alone_is_no_queue() {
    let mut shard = taught(config(0.0), 2_000);
    assert_eq!(ask_for(&mut shard, LONG, None), Verdict::Admit);
    shard.on_start(Instant::ZERO, ID, Duration::ZERO, None, &mut Silent);
    assert_eq!(ask_for(&mut shard, LONG, Some(us(9))), LATE, "it waited 10 µs unseen");
    assert_eq!(ask_for(&mut shard, LONG, Some(us(10))), Verdict::Admit);
    let verdict = ask_for(&mut shard, LONG, None);
    assert_eq!(verdict, Verdict::Shed(Reason::Delay), "one waits, and each counts 1,105 µs");
}
