//! Loops that share a pool: each makes some of its updates and knows its own sessions alone.

use super::*;

const OTHER: SessionId = SessionId(1);

fn two_loops(config: Config) -> [BreakwaterShard; 2] {
    let pool = Arc::new(Pool::new(config, 2));
    [0, 1].map(|place| BreakwaterShard::new(Arc::clone(&pool), place, Rng::from_seed(1)))
}

/// Each loop has two sessions, and the pool is of so many credits, of which they hold four.
fn two_loops_with_pool(config: Config, total: u32) -> [BreakwaterShard; 2] {
    let mut shards = two_loops(config);
    for shard in &mut shards {
        [ID, OTHER].into_iter().for_each(|id| visit(shard, id));
    }
    for _ in shards[0].pool.total()..total {
        shards[0].pool.set_idle(0);
        shards[0].pool.set_active();
    }
    shards
}

fn at(us: u64) -> Instant {
    Instant::from_nanos(us * 1_000)
}

fn tick(shard: &mut BreakwaterShard, us: u64) -> u32 {
    shard.on_tick(at(us), Duration::ZERO, &mut Silent);
    shard.pool.total()
}

/// The first loop makes three updates of four and has nothing to say. What the second shed is neither
/// lost by that nor counted twice: 70 % of sixty, beyond the 30 % that bursts explain.
#[test]
fn what_a_loop_shed_counts_at_the_update_that_it_makes_and_at_no_other() {
    let interval = Duration::from_micros(10);
    let config =
        Config { interval: crate::breakwater::Interval::Fixed(interval), ..Config::tuned(SLO, 1) };
    let [mut first, mut second] = two_loops_with_pool(config, 100);
    assert_eq!((tick(&mut first, 0), tick(&mut second, 10)), (100, 100), "visits are forgotten");
    (0..60).for_each(|_| second.tally.on_shed(true));
    for us in [20, 30, 40] {
        assert_eq!((tick(&mut first, us), tick(&mut second, us)), (100, 100), "{us} µs");
    }
    assert_eq!(tick(&mut second, 50), 58);
    assert_eq!((tick(&mut first, 60), tick(&mut second, 70)), (58, 58));
}

/// An iteration of the efficiency law that ended between two updates of the delay law took the tally away:
/// what had been shed until then was counted by neither.
#[test]
fn the_other_laws_iterations_leave_the_tally_to_the_updates() {
    let update = Duration::from_millis(1);
    let config = Config {
        interval: crate::breakwater::Interval::Fixed(update),
        ..Config::efficiency_tuned(SLO, 1)
    };
    let [mut first, _] = two_loops_with_pool(config, 100);
    assert_eq!(tick(&mut first, 0), 100);
    (0..60).for_each(|_| first.tally.on_shed(true));
    // Iterations of 20 µs, by the shortest round trip that counts.
    (1..1_000).for_each(|us| assert_eq!(tick(&mut first, us), 100, "{us} µs"));
    assert_eq!(tick(&mut first, 1_000), 58);
}

/// Nothing tells its loop that there is room now: it looks again by itself, when an update could be due.
#[test]
fn a_stranded_session_is_woken_by_its_own_loop_once_another_has_made_room() {
    let [mut first, mut second] = two_loops(Config::paper(SLO, 1));
    visit(&mut first, ID);
    visit(&mut second, OTHER);
    assert!(second.sessions[OTHER.index()].listed, "the pool's only credit is elsewhere");
    assert_eq!(second.poll_wish(at(1), &mut Silent), None);
    first.on_close(at(1), ID, &mut Silent);
    assert_eq!(first.poll_wish(at(1), &mut Silent), None, "it is none of its sessions");
    assert_eq!(first.next_deadline(at(1)), None);
    let again = second.next_deadline(at(1)).expect("it must not sleep for ever");
    assert_eq!(again, at(2), "the shortest interval, as no round trip is known");
    let wish = second.poll_wish(again, &mut Silent);
    assert!(matches!(wish, Some(Wish::Credit(OTHER, offer)) if offer.window == 1), "{wish:?}");
    assert_eq!(second.poll_wish(again, &mut Silent), None, "once");
    assert_eq!(second.next_deadline(again), None);
}

/// While nothing makes room it has a credit all the same, after a second.
#[test]
fn nor_does_it_starve_while_the_other_loop_holds_the_whole_pool() {
    let [mut first, mut second] = two_loops(Config::tuned(SLO, 1));
    visit(&mut first, ID);
    visit(&mut second, OTHER);
    assert!(second.sessions[OTHER.index()].listed);
    assert_eq!(second.poll_wish(at(999_999), &mut Silent), None);
    let wish = second.poll_wish(at(1_000_000), &mut Silent);
    assert!(matches!(wish, Some(Wish::Credit(OTHER, offer)) if offer.window == 1), "{wish:?}");
}

/// What a silent session of one loop holds too much makes room for one that another has stranded.
#[test]
fn a_loop_cuts_its_silent_sessions_for_those_that_another_has_stranded() {
    let [mut first, mut second] = two_loops(Config::tuned(SLO, 1));
    visit(&mut first, ID);
    first.sessions[ID.index()].offer(9);
    first.recount(ID);
    let now = at(500_000);
    assert_eq!(tick(&mut first, 499_000), 1);
    assert_eq!(first.poll_wish(now, &mut Silent), None, "nobody wants them");
    visit_at(&mut second, now, OTHER);
    assert!(second.sessions[OTHER.index()].listed);
    tick(&mut first, 500_000);
    let cut = first.poll_wish(now, &mut Silent);
    assert!(matches!(cut, Some(Wish::Credit(ID, offer)) if offer.window == 1), "{cut:?}");
    let woken = second.poll_wish(now, &mut Silent);
    assert!(matches!(woken, Some(Wish::Credit(OTHER, offer)) if offer.window == 1), "{woken:?}");
}
