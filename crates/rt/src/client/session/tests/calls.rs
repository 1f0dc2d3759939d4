//! Calls and their ends: answers, cancellation, windows.

use super::*;
use tailwater_control::DropReason;

const CANCELLED: u16 = 9;

/// A5: a call that timed out kept its credit, and with a window of one nothing was sent any more.
#[test]
fn after_a_hung_call_the_next_fifty_go_on() {
    let mut peer = Scripted::with_credits().greeted(1);
    let hung = peer.submit(0);
    assert_eq!(peer.requests(), [hung]);
    peer.cancel(hung);
    let next = peer.submit(1);
    assert_eq!(peer.take_said(), [Said::Cancel(hung)]);
    assert_eq!(peer.said(), [Said::Ping], "nothing was heard since it was sent");
    assert_eq!(peer.outstanding(), 1, "until the server has answered");
    peer.reject(hung, CANCELLED, 1).unwrap();
    assert_eq!(peer.requests(), [next]);
    peer.respond(next, 0, 1).unwrap();
    for token in 2..=50 {
        let id = peer.submit(token);
        assert_eq!(peer.requests(), [id]);
        peer.respond(id, 0, 1).unwrap();
    }
    let ended = peer.ended();
    assert!(ended.iter().all(|(_, end)| matches!(end, End::Response { .. })), "{ended:?}");
    assert_eq!(ended.iter().map(|(token, _)| *token).collect::<Vec<_>>(), Vec::from_iter(1..=50));
    assert_eq!((peer.outstanding(), peer.session.calls().load()), (0, 0));
}

#[test]
fn an_answer_to_a_cancelled_call_is_dropped_and_its_window_applies() {
    let mut peer = Scripted::with_credits().greeted(1);
    let given_up = peer.submit(0);
    assert_eq!(peer.requests(), [given_up]);
    peer.cancel(given_up);
    peer.cancel(given_up);
    let cancels = peer.take_said().iter().filter(|said| **said == Said::Cancel(given_up)).count();
    assert_eq!(cancels, 1, "one CANCEL for a call");
    let ids = [peer.submit(1), peer.submit(2)];
    peer.respond(given_up, 0, 2).unwrap();
    assert_eq!(peer.requests(), ids);
    assert_eq!(peer.ended(), []);
    assert_eq!(peer.outstanding(), 2);
}

/// The choice of a replica went by the number of calls alone, and took one that was to be left in peace.
#[test]
fn a_pause_of_the_server_is_told_until_it_ends() {
    let mut peer = Scripted::with_credits().greeted(1);
    let id = peer.submit(0);
    assert_eq!(peer.requests(), [id]);
    let mut head = peer.head(id, 2);
    head.grant.pause = Pause::of(Duration::from_micros(160));
    assert!(!peer.session.calls().is_paused(peer.now));
    peer.hear(ServerFrame::Response(Response { head, status: 0, payload: b"ok" })).unwrap();
    assert!(peer.session.calls().is_paused(peer.now));
    peer.pass(Duration::from_micros(160));
    assert!(!peer.session.calls().is_paused(peer.now));
}

/// A17: a call that nobody wanted any more was sent and served.
#[test]
fn a_cancelled_call_that_waits_is_never_sent() {
    let mut peer = Scripted::open();
    let id = peer.submit(0);
    peer.cancel(id);
    assert_eq!(peer.session.calls().load(), 0);
    let mut peer = peer.greeted(u32::MAX);
    assert_eq!((peer.said(), peer.ended()), (vec![], vec![]));
}

#[test]
fn cancelling_what_has_ended_does_nothing() {
    let mut peer = Scripted::open().greeted(u32::MAX);
    let id = peer.submit(0);
    assert_eq!(peer.requests(), [id]);
    peer.respond(id, 0, u32::MAX).unwrap();
    peer.cancel(id);
    assert_eq!(peer.said(), []);
    assert_eq!(peer.ended().len(), 1);
}

#[test]
fn a_recalled_call_comes_back_whole() {
    let mut peer = Scripted::with_credits().greeted(1);
    let sent = peer.submit(0);
    let waits = peer.submit_long(1, 100);
    assert_eq!(peer.requests(), [sent]);
    assert_eq!(peer.session.recall(RequestId(sent)), None);
    assert_eq!(peer.session.recall(RequestId(waits)), Some(call(100)));
    assert_eq!(peer.session.calls().unfinished(), 1);
}

/// A22: forged answers to calls that wait were delivered, and leaked windows.
#[test]
fn an_answer_to_a_call_that_was_not_sent_breaks_the_connection() {
    let mut peer = Scripted::with_credits().greeted(1);
    let sent = peer.submit(0);
    let waits = peer.submit(1);
    assert_eq!(peer.requests(), [sent]);
    let over = peer.respond(waits, 0, 5).unwrap_err();
    assert_eq!(over, Over::Broken(GoodbyeCode::Protocol));
    peer.session.on_lost(peer.now, over);
    assert_eq!(peer.ended(), [(0, End::Lost)]);
    assert_eq!((peer.outstanding(), peer.session.calls().unfinished()), (0, 1));
    peer.session.on_connected(peer.now);
    assert_eq!(peer.requests(), [waits], "it goes to the next connection");
}

/// A22, its second half.
#[test]
fn the_window_of_an_answer_to_an_unknown_call_applies() {
    let mut peer = Scripted::with_credits().greeted(1);
    let first = peer.submit(0);
    assert_eq!(peer.requests(), [first]);
    let more = [peer.submit(1), peer.submit(2)];
    peer.respond(77, 0, 3).unwrap();
    assert_eq!(peer.requests(), more);
    assert_eq!((peer.outstanding(), peer.ended()), (3, vec![]));
}

#[test]
fn the_runtimes_statuses_are_not_the_applications() {
    let mut peer = Scripted::open().greeted(u32::MAX);
    let ids: Vec<_> = (0..3).map(|token| peer.submit(token)).collect();
    assert_eq!(peer.requests(), ids);
    for (id, status) in ids.into_iter().zip([404, 0xff01, 0xfffe]) {
        peer.respond(id, status, u32::MAX).unwrap();
    }
    let ended = peer.ended();
    assert!(matches!(ended[0].1, End::Response { status: 404, .. }), "{ended:?}");
    assert!(matches!(ended[1].1, End::Fault { fault: Fault::UnknownMethod, .. }), "{ended:?}");
    assert!(matches!(ended[2].1, End::Fault { fault: Fault::Other(0xfffe), .. }), "{ended:?}");
}

#[test]
fn no_more_are_outstanding_than_the_client_wants() {
    let config = ChannelConfig { outstanding_max: 2, ..config() };
    let open = queueing(Box::new(OpenGate));
    let mut peer = Scripted::new(&config, open, false).greeted(u32::MAX);
    let ids: Vec<_> = (0..3).map(|token| peer.submit(token)).collect();
    assert_eq!(peer.requests(), ids[..2]);
    peer.respond(ids[1], 0, u32::MAX).unwrap();
    assert_eq!(peer.requests(), ids[2..]);
}

#[test]
fn calls_end_in_time_and_once_while_the_server_does_not_read() {
    let (announce_demand, deregister_after) = (false, None);
    let expiry = Expiry::After(Duration::from_micros(10));
    let waits = ClientConfig { queue_max: 2, expiry, announce_demand, deregister_after };
    let control = Control::new(waits, Box::new(OpenGate));
    let config = ChannelConfig { output_max: 16, ..config() };
    let mut peer = Scripted::new(&config, control, false);
    peer.session.on_connected(peer.now);
    peer.session.welcome(peer.now, &welcome());
    for token in 0..4 {
        peer.submit(token);
        peer.session.run(peer.now).unwrap();
    }
    let due = peer.session.next_deadline().expect("two were pushed out");
    assert_eq!(due, Instant::ZERO, "at once");
    let full = || End::Unsent(DropReason::QueueFull);
    assert_eq!(peer.ended(), [(0, full()), (1, full())]);
    let due = peer.session.next_deadline().expect("two wait");
    assert_eq!(due, peer.now + Duration::from_micros(10));
    peer.session.run(due).unwrap();
    let expired = || End::Unsent(DropReason::Expired);
    assert_eq!(peer.ended(), [(2, expired()), (3, expired())]);
    assert_eq!(peer.session.calls().unfinished(), 0);
}

fn welcome() -> Welcome {
    let grant = Grant { window: u32::MAX, seq: 0, level: 0, pause: Pause::NONE };
    let (version, max_frame, stamp) = (VERSION_MAX, Limits::DEFAULT, Stamp(1));
    Welcome { version, features: 0, max_frame, session: 1, grant, slo_us: 0, stamp }
}
