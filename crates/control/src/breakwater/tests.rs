//! What a server says of itself: its name, its loops, and the sums over its pools.

use super::*;
use crate::server::{Arrival, Echo};
use tailwater_core::{Instant, SessionId, Silent};

const SLO: Duration = Duration::from_micros(200);

#[test]
fn a_name_says_which_law_hands_out_credits() {
    let name = |config| Breakwater::new(config, 3, 1).expect("the settings are sound").name();
    assert_eq!(name(Config::paper(SLO, 1)), "breakwater");
    assert_eq!(name(Config::efficiency_paper(SLO, 1)), "efficiency");
    for config in [Config::paper(SLO, 1), Config::efficiency_paper(SLO, 1)] {
        assert_eq!(name(Config { credits: false, ..config }), "aqm-only");
    }
}

/// Three loops with a pool each of a third of seven credits, rounded up.
#[test]
fn gauges_sum_the_pools_and_show_the_longest_times() {
    let us = Duration::from_micros;
    let config = Config { pools: Pools::PerLoop, pool_min: 7, ..Config::paper(SLO, 1) };
    let server = Arc::new(Breakwater::new(config, 3, 1).expect("the settings are sound"));
    assert_eq!(server.shards(), Some(3));
    assert_eq!(server.gauges(), Gauges { pool: 9, ..Gauges::default() });
    let mut shards: Vec<_> = (0..3).map(|index| Arc::clone(&server).shard(index)).collect();
    for (index, rtt_us) in [(0, 30), (2, 40)] {
        let (shard, sent) = (&mut shards[index], Instant::from_nanos(1_000_000));
        shard.on_open(sent, SessionId(0), &mut Silent);
        shard.on_sent(sent, SessionId(0));
        let echo = Some(Echo { stamp: sent.stamp(), hold: Duration::ZERO });
        let arrival = Arrival { register: true, echo, ..Arrival::default() };
        let now = sent + us(rtt_us);
        shard.on_request(now, SessionId(0), &arrival, Duration::ZERO, &mut Silent);
        // 500 µs are beyond the target: neither pool grows.
        shard.on_tick(now, us(500 + rtt_us), &mut Silent);
    }
    let found = server.gauges();
    let expected = Gauges { pool: 9, issued: 0, sessions: 2, idle: 0, delay: us(540), rtt: us(40) };
    assert_eq!(found, expected);
}
