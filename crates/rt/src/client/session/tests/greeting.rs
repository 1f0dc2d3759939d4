//! Up to WELCOME.

use super::*;

#[test]
fn one_small_call_goes_before_welcome_and_the_others_behind_it() {
    let mut peer = Scripted::open();
    let ids: Vec<_> = (0..3).map(|token| peer.submit(token)).collect();
    assert_eq!(peer.said(), []);
    peer.session.on_connected(peer.now);
    assert_eq!(peer.said(), [Said::Hello, Said::Request { id: ids[0], length: 4 }]);
    peer.welcome(u32::MAX, Limits::DEFAULT).unwrap();
    assert_eq!(peer.requests(), ids[1..]);
}

/// A client of a server without credits does not know before that it needs none.
#[test]
fn the_window_of_welcome_lets_calls_go_that_are_made_later() {
    let mut peer = Scripted::with_credits().greeted(u32::MAX);
    let ids: Vec<_> = (0..3).map(|token| peer.submit(token)).collect();
    assert_eq!(peer.requests(), ids, "before the first is answered");
}

#[test]
fn the_window_of_welcome_lets_calls_go_that_wait_behind_the_first() {
    let mut peer = Scripted::with_credits();
    let ids: Vec<_> = (0..3).map(|token| peer.submit(token)).collect();
    peer.session.on_connected(peer.now);
    assert_eq!(peer.requests(), ids[..1]);
    peer.welcome(u32::MAX, Limits::DEFAULT).unwrap();
    assert_eq!(peer.requests(), ids[1..]);
}

/// A10: it was sent in a frame that no server must take, and cost the connection.
#[test]
fn a_first_call_beyond_4096_bytes_waits_for_welcome() {
    let mut peer = Scripted::open();
    let id = peer.submit_long(1, Limits::FLOOR as usize);
    peer.session.on_connected(peer.now);
    assert_eq!(peer.said(), [Said::Hello]);
    peer.welcome(u32::MAX, 8 << 10).unwrap();
    assert_eq!(peer.said(), [Said::Request { id, length: Limits::FLOOR as usize }]);
    peer.respond(id, 0, u32::MAX).unwrap();
    peer.submit_long(2, 20 << 10);
    assert_eq!(peer.said(), []);
    let ended = peer.ended();
    assert!(matches!(ended[0], (1, End::Response { .. })), "{ended:?}");
    assert_eq!(ended[1], (2, End::TooLong { most: 8_144 }));
    assert_eq!(peer.outstanding(), 0);
}

#[test]
fn each_connection_begins_with_the_least_limit_again() {
    let mut peer = Scripted::open().greeted(u32::MAX);
    peer.session.on_lost(peer.now, Over::Closed);
    let id = peer.submit_long(1, 5_000);
    peer.session.on_connected(peer.now);
    assert_eq!(peer.said(), [Said::Hello]);
    peer.welcome(u32::MAX, Limits::DEFAULT).unwrap();
    assert_eq!(peer.requests(), [id]);
}

#[test]
fn a_call_that_could_go_elsewhere_waits_for_welcome() {
    let mut peer = Scripted::new(&config(), queueing(Box::new(OpenGate)), true);
    let id = peer.submit(1);
    peer.session.on_connected(peer.now);
    assert_eq!(peer.said(), [Said::Hello]);
    assert!(!peer.session.is_well(), "a handshake is not an answer");
    peer.welcome(u32::MAX, Limits::DEFAULT).unwrap();
    assert!(peer.session.is_well());
    assert_eq!(peer.requests(), [id]);
}

#[test]
fn the_objective_of_the_server_is_known_from_welcome() {
    let peer = Scripted::open();
    assert_eq!(peer.session.objective(), None);
    let peer = peer.greeted(1);
    assert_eq!(peer.session.objective(), Some(Duration::from_micros(400)));
}

#[test]
fn frames_out_of_order_break_the_connection() {
    let protocol = Err(Over::Broken(GoodbyeCode::Protocol));
    let mut peer = Scripted::open();
    peer.session.on_connected(peer.now);
    assert_eq!(peer.credit(5), protocol, "before WELCOME");
    let mut peer = Scripted::open().greeted(1);
    assert_eq!(peer.welcome(1, Limits::DEFAULT), protocol, "a second time");
    let garbage = [8, 0, 0, 0, 77, 0, 0, 0];
    let malformed = Err(Over::Broken(GoodbyeCode::Malformed));
    assert_eq!(peer.session.on_bytes(peer.now, &garbage), malformed);
}

#[test]
fn a_goodbye_in_place_of_welcome_means_that_nothing_was_begun() {
    let mut peer = Scripted::open();
    peer.submit(1);
    peer.session.on_connected(peer.now);
    assert_eq!(peer.requests().len(), 1);
    let full = Goodbye::new(GoodbyeCode::TooManyConnections, "");
    let over = peer.hear(ServerFrame::Goodbye(full)).unwrap_err();
    peer.session.on_lost(peer.now, over);
    assert_eq!(peer.ended(), [(1, End::NotTaken)]);
}
