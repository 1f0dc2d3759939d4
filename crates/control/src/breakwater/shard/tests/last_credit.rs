//! Which sessions keep a last credit while more are issued than the pool has.

use super::*;
use crate::breakwater::LastCredit;

const BUSY: SessionId = SessionId(1);
const POOL: u32 = 100;

/// The window that a session has after an answer, while `excess` more credits are out than the pool has.
fn window_after(last_credit: LastCredit, excess: u32, shed: bool) -> u32 {
    let config = Config { last_credit, pool_min: POOL, ..Config::tuned(SLO, 1) };
    let mut shard = own_shard(config);
    [ID, BUSY].into_iter().for_each(|id| visit(&mut shard, id));
    shard.sessions[ID.index()].offer(1);
    shard.recount(ID);
    shard.sessions[BUSY.index()].offer(POOL - 1 + excess);
    shard.recount(BUSY);
    assert_eq!(shard.pool.room(), -i64::from(excess));
    let seq = shard.sessions[ID.index()].seq;
    let time_left = shed.then_some(Duration::ZERO);
    let arrival = Arrival { acked: seq, time_left, hidden: SLO, ..Arrival::default() };
    let verdict = shard.on_request(Instant::ZERO, ID, &arrival, Duration::ZERO, &mut Silent);
    let outcome = if shed {
        assert_eq!(verdict, Verdict::Shed(Reason::Deadline));
        Outcome::Shed(Reason::Deadline)
    } else {
        assert_eq!(verdict, Verdict::Admit);
        shard.on_start(Instant::ZERO, ID, Duration::ZERO, None, &mut Silent);
        Outcome::Served
    };
    let reached = if shed { Reached::Arrival } else { Reached::Handler };
    let (waited, service) = (Duration::ZERO, Duration::ZERO);
    let done = RequestEnd { outcome, reached, waited, service, class: Class::default() };
    shard.on_done(Instant::ZERO, ID, &done).window
}

#[test]
fn it_is_kept_while_the_pool_is_exceeded_by_no_more_than_the_share() {
    let LastCredit::KeptWithin(share) = Config::tuned(SLO, 1).last_credit else {
        panic!("the default keeps it within a share")
    };
    for (share, most) in [(share, 5), (0.2, 20)] {
        for shed in [false, true] {
            let window = |excess| window_after(LastCredit::KeptWithin(share), excess, shed);
            assert_eq!([window(1), window(most), window(most + 1)], [1, 1, 0], "{share}, {shed}");
        }
    }
}

#[test]
fn by_the_text_it_is_taken_and_by_the_code_it_is_kept_unless_its_request_was_shed() {
    for excess in [1, 1_000] {
        let window = |last_credit, shed| window_after(last_credit, excess, shed);
        let of = |last_credit| [window(last_credit, false), window(last_credit, true)];
        assert_eq!(of(LastCredit::Revoked), [0, 0], "eq. 6, {excess}");
        assert_eq!(of(LastCredit::KeptUnlessShed), [1, 0], "{excess}");
    }
}
