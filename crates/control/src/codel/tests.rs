//! What CoDel's shards must forget, and which queue they judge.

use super::*;
use crate::server::{Arrival, Reason, Verdict};
use tailwater_core::{Instant, SessionId, Silent};

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
