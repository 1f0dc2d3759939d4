//! Sessions that once claimed to have much to send, and never send again.

use tailwater_tests::{Call, ECHO, Heard, Peer, Served, eventually};

const SESSIONS: u64 = 200;

/// Sessions that have each made one call with this demand; the credits they hold together.
fn credits_after_one_call_each(demand: u32) -> (u32, Served, Vec<Peer>) {
    let served = Served::breakwater();
    let mut peers: Vec<Peer> = (0..SESSIONS).map(|_| served.peer()).collect();
    for peer in &mut peers {
        peer.greet();
        peer.call(&Call { demand, ..Call::new(1, ECHO, b"") });
        let heard = peer.hear();
        assert!(matches!(heard, Heard::Response(1, ..)), "{heard:?}");
    }
    eventually("all are counted", || served.server.totals().served == SESSIONS);
    (served.server.gauges().issued, served, peers)
}

#[test]
fn a_claim_gains_no_credits_before_any_were_used() {
    let (modest, ..) = credits_after_one_call_each(0);
    // A machine that stands still meanwhile looks like a queue, and takes credits away: down from those of the first calls.
    let modest = u64::from(modest).max(SESSIONS);
    for claim in [64, u32::MAX] {
        let (held, ..) = credits_after_one_call_each(claim);
        assert!(u64::from(held) <= 4 * modest, "{held} credits for a claim, {modest} without one");
    }
}
