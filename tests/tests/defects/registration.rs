//! First requests that do not register as they should.

use tailwater_core::{MethodId, RequestId, Stamp};
use tailwater_tests::{Call, ECHO, Heard, Served};
use tailwater_wire::Limits;

#[test]
fn registration_may_ride_on_a_question_for_the_servers_counts() {
    let served = Served::breakwater();
    let mut peer = served.peer();
    peer.greet();
    let mut bytes = Vec::new();
    let question = tailwater_wire::Request {
        id: RequestId(1),
        method: MethodId::INTROSPECT,
        register: true,
        demand: 0,
        acked: 0,
        echo: None,
        sent_at: Stamp(0),
        budget_us: 0,
        tenant: 0,
        priority: 128,
        payload: b"",
    };
    question.encode(&Limits::default(), &mut bytes).expect("it fits");
    peer.say(&bytes);
    let heard = peer.hear();
    let Heard::Response(1, _, grant) = heard else {
        panic!("counts were due, {heard:?} came");
    };
    peer.call(&Call { register: false, acked: grant.seq, ..Call::new(2, ECHO, b"") });
    let heard = peer.hear();
    assert!(matches!(heard, Heard::Response(2, ..)), "registered, and yet: {heard:?}");
}

#[test]
fn one_number_never_names_two_windows() {
    let served = Served::breakwater();
    let mut peer = served.peer();
    let welcome = peer.greet();
    peer.call(&Call { register: false, ..Call::new(1, ECHO, b"") });
    let heard = peer.hear();
    let (Heard::Response(_, _, grant) | Heard::Reject(_, _, grant)) = heard else {
        panic!("an answer was due, {heard:?} came");
    };
    let contradicts = grant.seq == welcome.grant.seq && grant.window != welcome.grant.window;
    assert!(!contradicts, "{:?}, and then {grant:?}", welcome.grant);
}
