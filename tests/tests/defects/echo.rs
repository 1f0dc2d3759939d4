//! Clients that return the server's stamps falsely: the others' round trips are their own.

use super::support::PATIENT;
use std::time::Duration;
use tailwater_core::{MethodId, RequestId, Stamp};
use tailwater_rt::client::Client;
use tailwater_rt::time::now;
use tailwater_tests::{ECHO, Heard, Peer, Served, eventually};
use tailwater_wire::{Echo, Limits};

/// An honest client's calls, which measure its round trips.
fn honest_calls(client: &Client) {
    for _ in 0..200 {
        assert!(client.call_with(ECHO, "", PATIENT).wait().is_ok());
    }
}

/// Calls, one after the other, that return this stamp as if it had just come.
fn lies(peer: &mut Peer, stamp: impl Fn() -> Stamp) {
    let mut acked = 0;
    for id in 0..60 {
        let mut bytes = Vec::new();
        let echo = Echo::new(stamp(), Duration::ZERO).expect("a short hold");
        let request = tailwater_wire::Request {
            id: RequestId(id),
            method: MethodId(ECHO),
            register: true,
            demand: 0,
            acked,
            echo: Some(echo),
            sent_at: Stamp(0),
            budget_us: 0,
            tenant: 0,
            priority: 128,
            payload: b"",
        };
        request.encode(&Limits::default(), &mut bytes).expect("it fits");
        peer.say(&bytes);
        match peer.hear() {
            Heard::Response(_, _, grant) => acked = grant.seq,
            other => panic!("an answer was due, {other:?} came"),
        }
    }
}

/// Half of the lie, and far more than a round trip on loopback beside busy processes.
const TOO_LONG: Duration = Duration::from_millis(300);

#[test]
fn a_stamp_that_was_never_sent_moves_no_round_trip() {
    let served = Served::breakwater();
    let client = served.client();
    honest_calls(&client);
    let mut peer = served.peer();
    peer.greet();
    lies(&mut peer, || (now() - Duration::from_millis(900)).stamp());
    let rtt = served.server.gauges().rtt;
    assert!(rtt < TOO_LONG, "an honest round trip is not {rtt:?}");
}

#[test]
fn a_stamp_that_comes_back_again_and_again_moves_no_round_trip() {
    let served = Served::breakwater();
    let client = served.client();
    honest_calls(&client);
    let mut peer = served.peer();
    let welcome = peer.greet();
    let age = || now().stamp().nanos_since(welcome.stamp);
    eventually("the stamp is old, and still believed", || age() > 700_000_000);
    lies(&mut peer, || welcome.stamp);
    let rtt = served.server.gauges().rtt;
    assert!(rtt < TOO_LONG, "an honest round trip is not {rtt:?}");
}
