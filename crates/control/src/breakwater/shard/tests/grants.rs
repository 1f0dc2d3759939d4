//! Eq. 5 and 6: the window after an answer; and whom explicit credits go to.

use super::*;
use crate::breakwater::config::Trust;
use crate::breakwater::session::FIRST_WINDOW;
use crate::breakwater::{Explicit, Issued, LastCredit};

const BUSY: SessionId = SessionId(1);
const POOL: u32 = 100;

fn hold(shard: &mut BreakwaterShard, id: SessionId, window: u32) {
    shard.sessions[id.index()].offer(window);
    shard.recount(id);
}

/// The window that a session of five credits has after an answer. It wants nine more, and the pool has so
/// much room while its request runs.
fn window_after(config: Config, room: i64) -> u32 {
    let mut shard = own_shard(Config { pool_min: POOL, ..config });
    [ID, BUSY].into_iter().for_each(|id| visit(&mut shard, id));
    hold(&mut shard, ID, 5);
    let acked = shard.sessions[ID.index()].seq;
    let arrival = Arrival { acked, demand: 9, ..Arrival::default() };
    let verdict = shard.on_request(Instant::ZERO, ID, &arrival, Duration::ZERO, &mut Silent);
    assert_eq!(verdict, Verdict::Admit);
    hold(&mut shard, BUSY, 0);
    let others = u32::try_from(shard.pool.room() - room).expect("room for the other");
    hold(&mut shard, BUSY, others);
    assert_eq!(shard.pool.room(), room);
    shard.on_start(Instant::ZERO, ID, Duration::ZERO, None, &mut Silent);
    answer(&mut shard, 0, Outcome::Served).window
}

#[test]
fn a_window_is_what_is_wanted_as_far_as_there_is_room_and_falls_by_one_beyond() {
    let ours = Config { trust: Trust::Claimed, ..Config::tuned(SLO, 1) };
    // Demand of nine, and an overcommitment of a half of the room, of one at least.
    for (room, window) in [(-30, 4), (-1, 4), (0, 5), (1, 6), (3, 8), (5, 10), (40, 29)] {
        assert_eq!(window_after(ours, room), window, "room for {room}");
    }
    // The request spent its credit when it came.
    let text = Config { issued: Issued::Unused, ..ours };
    for (room, window) in [(-1, 3), (0, 4), (1, 5), (3, 7), (40, 29)] {
        assert_eq!(window_after(text, room), window, "unused credits, room for {room}");
    }
    let synchronised = Config { demand: Demand::Synchronised, ..ours };
    assert_eq!([5, 40].map(|room| window_after(synchronised, room)), [9, 9], "no overcommitment");
    assert_eq!(window_after(Config { window_max: 7, ..ours }, 40), 7);
}

fn at_ms(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

/// Twenty sessions that were stranded a millisecond apart, from the second on, at a pool that now has room
/// for all.
fn stranded(explicit: Explicit) -> BreakwaterShard {
    let config = Config {
        explicit,
        last_credit: LastCredit::Revoked,
        pool_min: POOL,
        idle_after: None,
        ..Config::tuned(SLO, 1)
    };
    let mut shard = own_shard(config);
    visit(&mut shard, ID);
    hold(&mut shard, ID, POOL);
    for id in 1..=20 {
        visit_at(&mut shard, at_ms(id.into()), SessionId(id));
        assert!(shard.sessions[SessionId(id).index()].listed);
    }
    hold(&mut shard, ID, 1);
    shard
}

fn woken(shard: &mut BreakwaterShard, now: Instant) -> Vec<u32> {
    std::iter::from_fn(|| shard.poll_wish(now, &mut Silent))
        .map(|Wish::Credit(id, offer)| {
            assert_eq!(offer.window, 1, "what it wants is unknown");
            id.0
        })
        .collect()
}

#[test]
fn those_that_starve_come_before_others_also_where_the_order_is_random() {
    let all: Vec<u32> = (1..=20).collect();
    assert_eq!(woken(&mut stranded(Explicit::OldestFirst), at_ms(30)), all);
    let mut random = woken(&mut stranded(Explicit::Random), at_ms(30));
    assert_ne!(random, all);
    random.sort_unstable();
    assert_eq!(random, all);
    // A second is the limit: all but the last five have reached it.
    let starving = woken(&mut stranded(Explicit::Random), at_ms(1_015));
    assert_eq!(starving[..15], all[..15]);
    assert_eq!(starving.len(), 20);
}

/// A message of demand may say what a stranded session wants.
#[test]
fn an_explicit_credit_meets_a_known_demand_as_far_as_there_is_room() {
    for (room, demand, window) in [(4, 9, 4), (20, 9, 9), (90, 80, 64), (20, 0, 1)] {
        let config = Config {
            trust: Trust::Claimed,
            last_credit: LastCredit::Revoked,
            pool_min: POOL,
            ..Config::tuned(SLO, 1)
        };
        let mut shard = own_shard(config);
        visit(&mut shard, BUSY);
        hold(&mut shard, BUSY, POOL + 1);
        visit(&mut shard, ID);
        assert!(shard.sessions[ID.index()].listed, "the pool is exceeded");
        shard.on_demand(Instant::ZERO, ID, demand, 0);
        hold(&mut shard, BUSY, POOL - room);
        let wish = shard.poll_wish(Instant::ZERO, &mut Silent);
        let given = matches!(wish, Some(Wish::Credit(ID, offer)) if offer.window == window);
        assert!(given, "{demand} wanted, room for {room}: {wish:?}");
    }
}

#[test]
fn a_session_that_leaves_gives_all_back_and_may_register_anew() {
    let mut shard = own_shard(Config { pool_min: POOL, ..Config::tuned(SLO, 1) });
    [ID, BUSY].into_iter().for_each(|id| visit(&mut shard, id));
    hold(&mut shard, ID, 30);
    let others = shard.pool.issued() - 30;
    for _ in 0..2 {
        shard.on_deregister(Instant::ZERO, ID, &mut Silent);
        assert_eq!((shard.pool.issued(), shard.pool.sessions()), (others, 1));
        assert_eq!(shard.sessions[ID.index()].window, FIRST_WINDOW);
    }
    let acked = shard.sessions[ID.index()].seq;
    let arrival = Arrival { acked, register: true, ..Arrival::default() };
    let verdict = shard.on_request(Instant::ZERO, ID, &arrival, Duration::ZERO, &mut Silent);
    assert_eq!((verdict, shard.pool.sessions()), (Verdict::Admit, 2));
}
