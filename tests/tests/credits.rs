//! Clients that do not keep to their windows, or lie about demand and what they know.

use tailwater_control::Reason;
use tailwater_rt::ServerConfig;
use tailwater_tests::{Bystander, Call, ECHO, Heard, Peer, Served, WAIT, controller, eventually};
use tailwater_wire::{Demand, GoodbyeCode, Grant};

const NO_CREDIT: u16 = Reason::NoCredit as u16;

fn rejects(heard: &[Heard]) -> usize {
    let refused = |heard: &&Heard| matches!(heard, Heard::Reject(_, NO_CREDIT, _));
    heard.iter().filter(refused).count()
}

/// Makes a call, which must be served, and waits until another may be made.
fn answered(peer: &mut Peer, call: &Call<'_>) -> Grant {
    peer.call(call);
    hears_answer(peer, call)
}

fn hears_answer(peer: &mut Peer, call: &Call<'_>) -> Grant {
    loop {
        match peer.hear() {
            Heard::Response(id, payload, grant) => {
                assert_eq!((id, &payload[..]), (call.id, call.payload));
                return with_credit(peer, grant);
            }
            Heard::Credit(_) => {}
            other => panic!("an answer was due, {other:?} came"),
        }
    }
}

/// Waits for the credit that follows a window of zero: on a busy machine the pool may shrink so far, and a
/// call without credit is refused by right.
fn with_credit(peer: &mut Peer, mut grant: Grant) -> Grant {
    while grant.window == 0 {
        match peer.hear() {
            Heard::Credit(newer) => grant = newer,
            other => panic!("a credit was due, {other:?} came"),
        }
    }
    grant
}

/// The answers to so many calls, and the credits that come between them.
fn answers(peer: &mut Peer, calls: usize) -> Vec<Heard> {
    let (mut heard, mut left) = (Vec::new(), calls);
    while left > 0 {
        let next = peer.hear();
        match next {
            Heard::Response(..) | Heard::Reject(..) => left -= 1,
            Heard::Credit(_) => {}
            other => panic!("an answer was due, {other:?} came"),
        }
        heard.push(next);
    }
    heard
}

fn grant_of(heard: &Heard) -> Option<Grant> {
    match heard {
        Heard::Response(_, _, grant) | Heard::Reject(_, _, grant) | Heard::Credit(grant) => {
            Some(*grant)
        }
        _ => None,
    }
}

#[test]
fn who_floods_without_credit_is_refused_and_in_the_end_sent_away() {
    let served = Served::breakwater();
    let bystander = Bystander::of(&served);
    for register in [true, false] {
        let before = served.server.totals();
        let mut peer = served.peer();
        peer.greet();
        for id in 0..2_000 {
            peer.call(&Call { register, ..Call::new(id, WAIT, b"more") });
        }
        let heard = peer.hear_out();
        let last = heard.last().expect("something was said");
        assert!(matches!(last, Heard::Goodbye(GoodbyeCode::NoCredit, _)), "{last:?}");
        assert_eq!(rejects(&heard), 64, "patience with a flood");
        eventually("it is counted", || {
            let totals = served.server.totals();
            let shed = NO_CREDIT as usize - 1;
            totals.protocol_errors == before.protocol_errors + 1
                && totals.shed[shed] == before.shed[shed] + 64
                && totals.closed == before.closed + 1
        });
    }
    assert!(served.gate.arrived() <= 64, "{} got in", served.gate.arrived());
    served.gate.open();
    bystander.is_unhurt();
    eventually("all credits are back", || served.server.gauges().issued == 0);
}

#[test]
fn who_oversteps_once_in_a_while_is_refused_and_stays() {
    let served = Served::breakwater();
    let mut peer = served.peer();
    peer.greet();
    let mut seq = 0;
    for round in 0..200_u64 {
        // One request too many after each sixteen good ones.
        if round % 16 == 15 {
            peer.call(&Call::new(round, WAIT, b""));
            peer.call(&Call { acked: seq, ..Call::new(1_000 + round, WAIT, b"") });
            served.gate.open();
            let heard = answers(&mut peer, 2);
            let newest = heard.iter().filter_map(grant_of).max_by_key(|grant| grant.seq);
            seq = with_credit(&mut peer, newest.expect("each answer has one")).seq;
        }
        seq = answered(&mut peer, &Call { acked: seq, ..Call::new(round, ECHO, b"x") }).seq;
    }
    assert_eq!(served.server.totals().protocol_errors, 0);
}

#[test]
fn who_claims_a_huge_demand_gets_no_more_than_the_largest_window() {
    let greedy = controller("breakwater", &[("window_max", "8"), ("pool_min", "10000")]);
    let served = Served::start(ServerConfig::default(), greedy);
    let bystander = Bystander::of(&served);
    let mut peer = served.peer();
    peer.greet();
    let (mut seq, mut largest) = (0, 0);
    for id in 0..100 {
        let call = Call { acked: seq, demand: u32::MAX, ..Call::new(id, ECHO, b"me") };
        let grant = answered(&mut peer, &call);
        (seq, largest) = (grant.seq, largest.max(grant.window));
        let mut bytes = Vec::new();
        Demand { demand: u32::MAX, acked: seq }.encode(&mut bytes);
        peer.say(&bytes);
    }
    assert_eq!(largest, 8, "there was room for all of it");
    assert!(served.server.gauges().issued <= 16, "two clients, eight each");
    bystander.is_unhurt();
}

#[test]
fn who_claims_to_know_windows_that_were_never_sent_gains_nothing() {
    for acked in [0, 1, 2, 1 << 20, i32::MAX as u32, 1 << 31, u32::MAX] {
        let served = Served::breakwater();
        let bystander = Bystander::of(&served);
        let mut peer = served.peer();
        peer.greet();
        for id in 0..10 {
            peer.call(&Call { acked, ..Call::new(id, WAIT, b"") });
        }
        let heard = answers(&mut peer, 9);
        assert_eq!(rejects(&heard), 9, "acked {acked}: {heard:?}");
        served.gate.open();
        hears_answer(&mut peer, &Call::new(0, WAIT, b""));
        // A liar who sends one call at a time is served all the same.
        for id in 10..20 {
            answered(&mut peer, &Call { acked, ..Call::new(id, ECHO, b"one") });
        }
        bystander.is_unhurt();
    }
}

/// Registers, gives back and registers again without an end: the sums stay right.
#[test]
fn registering_and_giving_back_over_and_over_leaves_the_pool_as_it_was() {
    let served = Served::breakwater();
    let mut peer = served.peer();
    peer.greet();
    let mut deregister = Vec::new();
    tailwater_wire::Deregister.encode(&mut deregister);
    for id in 0..300 {
        answered(&mut peer, &Call::new(id, ECHO, b"in"));
        peer.say(&deregister);
        peer.say(&deregister);
    }
    eventually("nobody is registered", || {
        let gauges = served.server.gauges();
        (gauges.sessions, gauges.issued) == (0, 0)
    });
    assert_eq!(served.server.totals().protocol_errors, 0);
}
