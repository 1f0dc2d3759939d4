//! Whether the server is there, and how it goes away.

use super::*;

const DRAINING: u16 = 8;

fn goodbye(peer: &mut Scripted, taken: Option<u64>) {
    let goodbye = Goodbye { taken, ..Goodbye::new(GoodbyeCode::Draining, "restart") };
    let over = peer.hear(ServerFrame::Goodbye(goodbye)).unwrap_err();
    assert_eq!(over, Over::Goodbye { taken });
    peer.session.on_lost(peer.now, over);
}

/// A7: what a server had not begun was reported as if it might have been carried out.
#[test]
fn calls_behind_the_last_that_was_read_were_not_begun() {
    let mut peer = Scripted::open().greeted(u32::MAX);
    // What an earlier connection carried does not count for this one.
    peer.submit(9);
    assert_eq!(peer.requests().len(), 1);
    peer.session.on_lost(peer.now, Over::Closed);
    assert_eq!(peer.ended(), [(9, End::Lost)]);
    let mut peer = peer.greeted(u32::MAX);
    let ids: Vec<_> = (0..4).map(|token| peer.submit(token)).collect();
    assert_eq!(peer.requests(), ids);
    peer.respond(ids[0], 0, u32::MAX).unwrap();
    peer.cancel(ids[3]);
    assert_eq!(peer.ended().len(), 1);
    goodbye(&mut peer, Some(2));
    assert_eq!(peer.ended(), [(1, End::Lost), (2, End::NotTaken)], "the last was given up");
    assert_eq!((peer.outstanding(), peer.session.calls().load()), (0, 0));
}

#[test]
fn without_a_count_all_that_was_sent_is_unknown() {
    let mut peer = Scripted::open().greeted(u32::MAX);
    let sent = [peer.submit(0), peer.submit(1)];
    assert_eq!(peer.requests(), sent);
    peer.submit(2);
    goodbye(&mut peer, None);
    assert_eq!(peer.ended(), [(0, End::Lost), (1, End::Lost)]);
    assert_eq!(peer.session.calls().unfinished(), 1, "what waits goes on waiting");
}

#[test]
fn a_server_that_drains_gets_no_more_calls_where_there_are_others() {
    for has_replicas in [false, true] {
        let open = queueing(Box::new(OpenGate));
        let mut peer = Scripted::new(&config(), open, has_replicas).greeted(u32::MAX);
        let refused = peer.submit(0);
        assert_eq!(peer.requests(), [refused]);
        peer.reject(refused, DRAINING, u32::MAX).unwrap();
        assert_eq!(peer.ended().len(), 1);
        let waits = peer.submit(1);
        let sent = if has_replicas { vec![] } else { vec![waits] };
        assert_eq!(peer.requests(), sent);
        assert_eq!(peer.session.is_unwell(), has_replicas);
        goodbye(&mut peer, Some(1));
        peer.session.on_connected(peer.now);
        assert!(!peer.session.is_unwell(), "the next may be another server");
    }
}

#[test]
fn arguments_are_kept_only_where_a_call_may_go_elsewhere() {
    for (has_replicas, length) in [(false, 0), (true, 4)] {
        let open = queueing(Box::new(OpenGate));
        let mut peer = Scripted::new(&config(), open, has_replicas).greeted(u32::MAX);
        peer.submit(0);
        assert_eq!(peer.requests().len(), 1);
        goodbye(&mut peer, Some(0));
        let event = peer.session.poll_event().expect("it has ended");
        assert_eq!((event.end, event.call.payload.len()), (End::NotTaken, length));
    }
}

/// A6, the client's half: a server that never reads was waited for for ever.
#[test]
fn a_server_that_says_nothing_is_asked_and_given_up() {
    let mut peer = Scripted::open().greeted(u32::MAX);
    let id = peer.submit(0);
    assert_eq!(peer.requests(), [id]);
    let due = peer.session.next_deadline().expect("it will be asked");
    assert_eq!(due, peer.now + config().ping_after);
    peer.now = due;
    assert_eq!(peer.said(), [Said::Ping]);
    assert!(peer.session.is_unwell(), "others are preferred until it says something");
    let due = peer.session.next_deadline().expect("it will be given up");
    assert_eq!(due, peer.now + config().ping_patience);
    let over = peer.session.run(due).unwrap_err();
    assert_eq!(over, Over::Silent);
    peer.session.on_lost(due, over);
    assert_eq!(peer.ended(), [(0, End::Lost)]);
    assert_eq!(peer.session.next_deadline(), None);
}

#[test]
fn a_server_that_answers_pings_may_take_its_time() {
    let mut peer = Scripted::open().greeted(u32::MAX);
    let id = peer.submit(0);
    assert_eq!(peer.requests(), [id]);
    for _ in 0..100 {
        peer.pass(config().ping_after);
        assert_eq!(peer.said(), [Said::Ping]);
        peer.pass(config().ping_patience / 2);
        peer.hear(ServerFrame::Pong(Pong { token: 1 })).unwrap();
        assert!(peer.session.is_well());
    }
    peer.respond(id, 0, u32::MAX).unwrap();
    assert_eq!(peer.ended().len(), 1);
    assert_eq!(peer.said(), []);
    assert_eq!(peer.session.next_deadline(), None, "nothing is due");
}

#[test]
fn a_question_is_asked_again_for_each_call_that_timed_out_in_silence() {
    let mut peer = Scripted::open().greeted(u32::MAX);
    let id = peer.submit(0);
    assert_eq!(peer.requests(), [id]);
    peer.pass(Duration::from_millis(100));
    peer.cancel(id);
    assert_eq!(peer.said(), [Said::Cancel(id), Said::Ping], "long before ping_after");
    assert!(peer.session.is_unwell());
    peer.hear(ServerFrame::Pong(Pong { token: 1 })).unwrap();
    assert!(peer.session.is_well());
}

#[test]
fn pings_are_answered_one_at_a_time_and_not_piled_up() {
    let mut peer = Scripted::open().greeted(u32::MAX);
    peer.hear(ServerFrame::Ping(Ping { token: 5 })).unwrap();
    assert_eq!(peer.said(), [Said::Pong(5)]);
    for token in 0..10_000 {
        peer.hear(ServerFrame::Ping(Ping { token })).unwrap();
    }
    assert_eq!(peer.said(), [Said::Pong(9_999)]);
}

#[test]
fn a_server_that_pings_and_does_not_read_is_not_answered_without_end() {
    let config = ChannelConfig { output_max: 64, ..config() };
    let open = queueing(Box::new(OpenGate));
    let mut peer = Scripted::new(&config, open, false).greeted(u32::MAX);
    for token in 0..10_000 {
        peer.hear(ServerFrame::Ping(Ping { token })).unwrap();
        peer.session.run(peer.now).unwrap();
    }
    assert!(peer.session.outgoing.unsent() <= 80, "{}", peer.session.outgoing.unsent());
    assert_eq!(peer.take_said().len(), 4);
    assert_eq!(peer.said(), [Said::Pong(9_999)], "once it reads");
}
