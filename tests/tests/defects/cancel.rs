//! CANCEL and PING from a peer of its own mind.

use super::support::{HANG, Hung};
use tailwater_core::RequestId;
use tailwater_rt::{Placement, ServerConfig};
use tailwater_tests::{Call, ECHO, Heard, WAIT, controller, eventually};
use tailwater_wire::{Cancel, Ping};

const PLACEMENTS: [Placement; 2] = [Placement::Inline, Placement::Workers(1)];
/// The code of REJECT for a call that was cancelled.
const CANCELLED: u16 = 9;

fn cancel(id: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    Cancel { id: RequestId(id) }.encode(&mut bytes);
    bytes
}

#[test]
fn a_cancelled_call_is_rejected_as_such_and_its_handler_ends() {
    for placement in PLACEMENTS {
        for controller_name in ["none", "breakwater", "gradient"] {
            let config = ServerConfig { model: placement.into(), ..ServerConfig::default() };
            let (served, hung) = Hung::start(config, controller(controller_name, &[]));
            let mut peer = served.peer();
            peer.greet();
            let mut acked = 0;
            for id in 1..=20 {
                peer.call(&Call { acked, ..Call::new(id, HANG, b"") });
                eventually("its handler runs", || u64::from(hung.begun()) == id);
                peer.say(&cancel(id));
                let heard = peer.hear();
                let Heard::Reject(answered, CANCELLED, grant) = heard else {
                    panic!("{placement}, {controller_name}: {heard:?}");
                };
                assert_eq!(answered, id);
                acked = grant.seq;
                eventually("its handler has ended", || hung.live() == 0);
            }
        }
    }
}

#[test]
fn a_call_that_is_cancelled_while_it_waits_is_never_begun() {
    for placement in PLACEMENTS {
        let config =
            ServerConfig { model: placement.into(), tasks_max: 1, ..ServerConfig::default() };
        let (served, hung) = Hung::start(config, controller("none", &[]));
        let mut peer = served.peer();
        peer.greet();
        peer.call(&Call::new(1, WAIT, b""));
        eventually("it takes the only place", || served.gate.arrived() == 1);
        for id in 2..=9 {
            peer.call(&Call::new(id, HANG, b""));
        }
        for id in 2..=9 {
            peer.say(&cancel(id));
        }
        let heard: Vec<Heard> = (2..=9).map(|_| peer.hear()).collect();
        let rejected = |heard: &Heard| matches!(heard, Heard::Reject(_, CANCELLED, _));
        assert!(heard.iter().all(rejected), "{placement}: {heard:?}");
        served.gate.open();
        let heard = peer.hear();
        assert!(matches!(heard, Heard::Response(1, ..)), "{placement}: {heard:?}");
        peer.call(&Call::new(10, ECHO, b""));
        let heard = peer.hear();
        assert!(matches!(heard, Heard::Response(10, ..)), "{placement}: {heard:?}");
        assert_eq!(hung.begun(), 0, "{placement}");
    }
}

#[test]
fn a_cancel_for_nothing_and_one_that_comes_too_late_change_nothing() {
    let (served, _hung) = Hung::start(ServerConfig::default(), controller("breakwater", &[]));
    let mut peer = served.peer();
    peer.greet();
    let mut acked = 0;
    for id in 1..=50 {
        peer.say(&[cancel(id), cancel(u64::MAX)].concat());
        peer.call(&Call { acked, ..Call::new(id, ECHO, b"x") });
        let heard = peer.hear();
        let Heard::Response(answered, _, grant) = heard else {
            panic!("an answer was due, {heard:?} came");
        };
        assert_eq!(answered, id);
        acked = grant.seq;
        peer.say(&cancel(id));
    }
}

#[test]
fn a_ping_is_answered_with_its_token_while_calls_hang() {
    let (served, hung) = Hung::start(ServerConfig::default(), controller("none", &[]));
    let mut peer = served.peer();
    peer.greet();
    peer.call(&Call::new(1, HANG, b""));
    eventually("its handler runs", || hung.begun() == 1);
    for token in [0, 1, u64::MAX] {
        let mut bytes = Vec::new();
        Ping { token }.encode(&mut bytes);
        peer.say(&bytes);
        assert_eq!(peer.hear(), Heard::Pong(token));
    }
}
