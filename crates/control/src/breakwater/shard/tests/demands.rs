//! Which sessions are stranded, by what clients announce and what they hold, and which get an explicit credit.

use super::*;

const BUSY: SessionId = SessionId(1);
const POOL: u32 = 100;

fn config(demand: Demand) -> Config {
    let trust = crate::breakwater::Trust::Claimed;
    let last_credit = crate::breakwater::LastCredit::Revoked;
    Config { demand, trust, last_credit, pool_min: POOL, ..Config::tuned(SLO, 1) }
}

fn hold(shard: &mut BreakwaterShard, id: SessionId, window: u32) {
    shard.sessions[id.index()].offer(window);
    shard.recount(id);
}

/// One session holds so much, another all that the pool has beyond this room.
fn holding(demand: Demand, window: u32, room: i64) -> BreakwaterShard {
    let mut shard = own_shard(config(demand));
    [ID, BUSY].into_iter().for_each(|id| visit(&mut shard, id));
    hold(&mut shard, ID, window);
    hold(&mut shard, BUSY, 0);
    let others = u32::try_from(shard.pool.room() - room).expect("room for the other");
    hold(&mut shard, BUSY, others);
    assert_eq!(shard.pool.room(), room);
    shard
}

fn announce(shard: &mut BreakwaterShard, at_ms: u64, demand: u32) {
    let acked = shard.sessions[ID.index()].seq;
    shard.on_demand(Instant::from_nanos(at_ms * 1_000_000), ID, demand, acked);
}

/// Fig. 8: a session that announces more than it holds unused waits for a message.
#[test]
fn with_demand_synchronised_a_session_is_stranded_while_it_wants_more_than_it_holds() {
    for (window, demand, stranded) in [(3, 2, false), (3, 3, false), (3, 4, true), (0, 0, false)] {
        let mut shard = holding(Demand::Synchronised, window, 0);
        announce(&mut shard, 5, demand);
        let session = &shard.sessions[ID.index()];
        assert_eq!(session.listed, stranded, "{demand} wanted, {window} held");
        assert_eq!(session.silent_since, Instant::from_nanos(5_000_000), "it was heard");
        announce(&mut shard, 6, demand);
        assert_eq!(shard.stranded.len(), usize::from(stranded), "listed once");
    }
}

/// With demand speculated such a message costs its sender nothing and shows no use of credits.
#[test]
fn with_demand_speculated_a_message_of_demand_strands_nobody_and_breaks_no_silence() {
    let mut shard = holding(Demand::Speculated, 3, 0);
    announce(&mut shard, 5, 9);
    let session = &shard.sessions[ID.index()];
    assert_eq!((session.listed, session.demand), (false, 9));
    assert_eq!(session.silent_since, Instant::ZERO);
}

fn woken(shard: &mut BreakwaterShard) -> Option<(SessionId, u32)> {
    let wish = shard.poll_wish(Instant::from_nanos(7_000_000), &mut Silent);
    wish.map(|Wish::Credit(id, offer)| (id, offer.window))
}

#[test]
fn a_session_with_credits_unused_gets_more_where_there_is_room_and_none_from_an_empty_pool() {
    let mut shard = holding(Demand::Synchronised, 3, 2);
    announce(&mut shard, 5, 9);
    assert_eq!(woken(&mut shard), Some((ID, 5)), "two more than the three");
    let mut shard = holding(Demand::Synchronised, 3, 0);
    announce(&mut shard, 5, 9);
    assert_eq!(woken(&mut shard), None);
    assert_eq!(shard.stranded.len(), 1, "it waits for room");
}

/// It sends a request without credit, whose answer can carry one: until then nothing else is sent to it.
#[test]
fn a_listed_session_to_which_an_answer_is_to_come_is_passed_over() {
    let mut shard = own_shard(config(Demand::Speculated));
    visit(&mut shard, BUSY);
    hold(&mut shard, BUSY, POOL + 1);
    visit(&mut shard, ID);
    assert!(shard.sessions[ID.index()].listed, "the pool is exceeded");
    let acked = shard.sessions[ID.index()].seq;
    let arrival = Arrival { acked, ..Arrival::default() };
    let verdict = shard.on_request(Instant::ZERO, ID, &arrival, Duration::ZERO, &mut Silent);
    assert_eq!(verdict, Verdict::Shed(Reason::NoCredit));
    hold(&mut shard, BUSY, 1);
    assert_eq!(woken(&mut shard), None);
    assert_eq!((shard.sessions[ID.index()].listed, shard.stranded.len()), (false, 0));
    answer(&mut shard, 7_000, Outcome::Shed(Reason::NoCredit));
    assert!(shard.sessions[ID.index()].listed, "it waits like others");
    assert_eq!(woken(&mut shard), Some((ID, 1)));
}
