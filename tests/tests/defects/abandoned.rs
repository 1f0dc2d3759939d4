//! Handlers whose callers have left, given up, or take more than their share: none keeps a place.

use super::support::{HANG, Hung, PATIENT, within};
use std::cell::Cell;
use std::time::Duration;
use tailwater_rt::{Placement, ServerConfig};
use tailwater_tests::{Call, ECHO, Peer, Served, controller, eventually};

const PLACEMENTS: [Placement; 2] = [Placement::Inline, Placement::Workers(2)];
const TASKS: u32 = 50;

fn crowdable(placement: Placement, controller_name: &str) -> (Served, Hung) {
    let config = ServerConfig {
        model: placement.into(),
        tasks_max: TASKS as usize,
        ..ServerConfig::default()
    };
    Hung::start(config, controller(controller_name, &[]))
}

/// A call of another client is answered although nothing else changes.
fn another_is_served(served: &Served, when: &str) {
    let answer = served.client().call_with(ECHO, "hello", within(Duration::from_secs(30))).wait();
    assert!(answer.is_ok(), "{when}, another client's call ended in {answer:?}");
}

#[test]
fn a_handler_ends_with_the_connection_of_its_client() {
    for placement in PLACEMENTS {
        for controller_name in ["none", "breakwater", "gradient"] {
            let (served, hung) = crowdable(placement, controller_name);
            let places = TASKS * if placement == Placement::Inline { 1 } else { 2 };
            for begun in 1..=places {
                let mut peer = served.peer();
                peer.greet();
                peer.call(&Call::new(1, HANG, b""));
                eventually("its handler runs", || hung.begun() == begun);
            }
            let all_closed = || served.server.totals().closed == u64::from(places);
            eventually("all have left", all_closed);
            let when = format!("{placement}, {controller_name}: after {places} clients have left");
            another_is_served(&served, &when);
            eventually("no handler is left", || hung.live() == 0);
        }
    }
}

/// Calls without end, and reads what comes of them, until the server is gone or has sent it away.
fn floods(mut peer: Peer) {
    let mut answers = peer.socket().try_clone().expect("a descriptor");
    let reader = std::thread::spawn(move || std::io::copy(&mut answers, &mut std::io::sink()));
    let portion = |first| (first..first + 1_024).flat_map(|id| Call::new(id, HANG, b"").bytes());
    let mut portions = (0_u64..).step_by(1_024).map(|first| portion(first).collect::<Vec<u8>>());
    while portions.next().is_some_and(|calls| peer.try_say(&calls)) {}
    drop((peer, reader.join()));
}

#[test]
fn one_connection_does_not_take_every_place() {
    for placement in PLACEMENTS {
        let config = ServerConfig { model: placement.into(), ..ServerConfig::default() };
        // Those of all threads together, and some more.
        let most = 3 * config.tasks_max as u64;
        let (served, _hung) = Hung::start(config, controller("none", &[]));
        let mut peer = served.peer();
        peer.greet();
        let flood = std::thread::spawn(move || floods(peer));
        let (seen, looks) = (Cell::new(0), Cell::new(0));
        eventually("the server has taken many calls, or takes no more", || {
            let totals = served.server.totals();
            let moved = totals.received != seen.replace(totals.received);
            looks.set(if moved { 0 } else { looks.get() + 1 });
            let no_more = totals.received > 0 && looks.get() > 1_000;
            totals.received >= most || totals.closed == 1 || no_more
        });
        another_is_served(&served, &format!("{placement}: beside one that floods"));
        drop(served);
        assert!(flood.join().is_ok());
    }
}

#[test]
fn calls_that_time_out_give_their_places_back() {
    for placement in PLACEMENTS {
        let (served, hung) = crowdable(placement, "none");
        let client = served.client();
        // In portions, each of which has room: what waits for a place might expire there.
        for _ in 0..8 {
            let call = |_| client.call_with(HANG, "", within(Duration::from_millis(300)));
            let calls: Vec<_> = (0..TASKS / 2).map(call).collect();
            for call in calls {
                assert!(call.wait().is_err(), "{placement}");
            }
        }
        another_is_served(&served, &format!("{placement}: after all calls of one have timed out"));
        eventually("no handler is left", || hung.live() == 0);
    }
}

#[test]
fn dropping_the_future_of_a_call_that_was_sent_ends_its_handler() {
    for placement in PLACEMENTS {
        let (served, hung) = crowdable(placement, "none");
        let client = served.client();
        let calls: Vec<_> = (0..5).map(|_| client.call_with(HANG, "", PATIENT)).collect();
        eventually("all run", || hung.begun() == 5);
        drop(calls);
        eventually("no handler is left", || hung.live() == 0);
        assert!(client.call(ECHO, "").wait().is_ok());
    }
}
