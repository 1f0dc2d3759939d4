//! Clients that read, at whatever speed: they get what they asked for.

use super::support::PATIENT;
use tailwater_rt::ServerConfig;
use tailwater_rt::client::Client;
use tailwater_tests::{Call, ECHO, Heard, LARGE, Peer, Served, controller};
use tailwater_wire::{Hello, VERSION_MAX, VERSION_MIN};

/// With its header a frame of a mebibyte, the longest by default.
const ANSWER: u32 = (1 << 20) - 40;

/// Takes bytes in small pieces, one for each answer that a neighbour gets meanwhile, up to `whole` or
/// the end; how many there were.
fn takes(peer: &mut Peer, neighbour: &Client, piece: usize, whole: usize) -> usize {
    let mut taken = 0;
    while taken < whole {
        let answer = neighbour.call_with(ECHO, "", PATIENT).wait();
        assert!(answer.is_ok(), "the neighbour's call ended in {answer:?}");
        match peer.swallow((whole - taken).min(piece)) {
            0 => break,
            count => taken += count,
        }
    }
    taken
}

#[test]
fn a_client_that_reads_gets_all_answers_however_many_are_due_at_once() {
    const CALLS: u64 = 64;
    let served = Served::start(ServerConfig::default(), controller("none", &[]));
    let neighbour = served.client();
    let mut peer = served.peer();
    peer.greet();
    let calls = (0..CALLS).flat_map(|id| Call::new(id, LARGE, &ANSWER.to_le_bytes()).bytes());
    peer.say(&calls.collect::<Vec<u8>>());
    let whole = CALLS as usize * (1 << 20);
    let taken = takes(&mut peer, &neighbour, 16 << 10, whole);
    assert_eq!(taken, whole, "bytes of {CALLS} answers before the end");
    assert_eq!(served.server.totals().slow_readers, 0);
}

#[test]
fn the_projects_own_client_gets_many_large_answers_at_once() {
    let served = Served::start(ServerConfig::default(), controller("none", &[]));
    let client = served.client();
    for round in 0..4 {
        let call = |_| client.call_with(LARGE, ANSWER.to_le_bytes(), PATIENT);
        let calls: Vec<_> = (0..64).map(call).collect();
        let failed: Vec<_> = calls.into_iter().filter_map(|call| call.wait().err()).collect();
        assert!(failed.is_empty(), "round {round}: {} of 64 failed: {:?}", failed.len(), failed[0]);
    }
}

/// A single answer of the agreed size passes, however much output that is.
#[test]
fn a_frame_size_that_was_agreed_on_can_be_used() {
    const LONG: u32 = 16 << 20;
    let config = ServerConfig { frame_max: 2 * LONG, ..ServerConfig::default() };
    let none = || controller("none", &[]);
    let served = Served::start(config, none());
    let neighbour = served.client();
    let mut peer = served.peer();
    let mut hello = Vec::new();
    let (version_min, version_max, max_frame) = (VERSION_MIN, VERSION_MAX, 2 * LONG);
    Hello { version_min, version_max, features: 0, max_frame, client_id: 0, tenant: 0 }
        .encode(&mut hello);
    peer.say(&hello);
    let heard = peer.hear();
    let Heard::Welcome(welcome) = heard else {
        panic!("WELCOME was due, {heard:?} came");
    };
    assert_eq!(welcome.max_frame, 2 * LONG);
    peer.call(&Call::new(1, LARGE, &(LONG - 40).to_le_bytes()));
    let taken = takes(&mut peer, &neighbour, 16 << 10, LONG as usize);
    assert_eq!(taken, LONG as usize, "bytes of one answer before the end");
}
