//! How a server ends, and what it tells of that.

use std::time::Duration;
use tailwater_core::{Event, Silent};
use tailwater_rt::{Drained, Remaining, Router, Server, ServerConfig};
use tailwater_tests::{Call, ECHO, Heard, Served, WAIT, controller, eventually};
use tailwater_wire::GoodbyeCode;

#[test]
fn a_drain_tells_what_it_could_not_wait_for() {
    let served = Served::start(ServerConfig::default(), controller("none", &[]));
    let mut peer = served.peer();
    peer.greet();
    for id in 0..3 {
        peer.call(&Call::new(id, WAIT, b""));
    }
    eventually("they run", || served.gate.arrived() == 3);
    let drained = served.server.drain(Duration::from_millis(20));
    assert_eq!(drained, Drained { unanswered: 3, ..Drained::default() });
    assert_eq!(peer.farewell(), GoodbyeCode::Draining);
}

#[test]
fn a_drain_may_be_watched_while_it_goes_on() {
    let served = Served::start(ServerConfig::default(), controller("none", &[]));
    let mut peer = served.peer();
    peer.greet();
    peer.call(&Call::new(1, WAIT, b""));
    let one = Remaining { connections: 1, unanswered: 1 };
    eventually("it runs", || served.server.remaining() == one);
    served.server.begin_drain(Duration::MAX);
    peer.call(&Call::new(2, ECHO, b"too late"));
    assert!(matches!(peer.hear(), Heard::Reject(2, ..)));
    assert_eq!(served.server.remaining(), one, "what was accepted is waited for");
    served.gate.open();
    assert!(matches!(peer.hear(), Heard::Response(1, ..)));
    assert_eq!(peer.farewell(), GoodbyeCode::Draining);
    drop(peer);
    eventually("nothing is left", || served.server.remaining() == Remaining::default());
    assert_eq!(served.server.drain(Duration::MAX), Drained::default());
}

/// The loop had ended, and said for ever that the connection was open.
#[test]
fn nothing_is_left_of_a_drain_whose_client_does_not_close() {
    let served = Served::start(ServerConfig::default(), controller("none", &[]));
    let mut peer = served.peer();
    peer.greet();
    let one = Remaining { connections: 1, unanswered: 0 };
    eventually("it is there", || served.server.remaining() == one);
    served.server.begin_drain(Duration::ZERO);
    eventually("nothing is left", || served.server.remaining() == Remaining::default());
    assert_eq!(peer.farewell(), GoodbyeCode::Draining);
}

#[test]
fn a_server_whose_loop_panics_ends_and_says_why() {
    let observe = |index| -> Box<dyn tailwater_core::Observer + Send> {
        let dies = |_, event: &Event| {
            assert!(!matches!(event, Event::Registered(_)), "the test's observer gives up");
        };
        if index == 1 { Box::new(dies) } else { Box::new(Silent) }
    };
    let config = ServerConfig { loops: 2, ..ServerConfig::default() };
    let breakwater = controller("breakwater", &[]);
    let server = Server::start_observed(config, breakwater.admission, Router::new(), observe);
    let server = server.expect("the test's server starts");
    assert_eq!(server.failure(), None);
    let mut peers = [(); 2].map(|()| tailwater_tests::Peer::connect(server.address()));
    for peer in &mut peers {
        peer.greet();
    }
    peers[1].call(&Call::new(1, ECHO, b""));
    for peer in &mut peers {
        assert_eq!(peer.farewell(), GoodbyeCode::Internal);
    }
    eventually("it is told", || server.failure().is_some());
    eventually("nothing is left", || server.remaining() == Remaining::default());
    let Drained { unanswered, failure, .. } = server.drain(Duration::MAX);
    assert_eq!(unanswered, 1, "the request in which it died");
    let failure = failure.expect("it has failed");
    assert!(failure.contains("loop 1") && failure.contains("gives up"), "{failure}");
}
