//! Clients that ask and never read: bounded memory, and in the end they are cut off. Alone in its
//! file, because it measures the memory of the whole process.

use std::time::Duration;
use tailwater_rt::ServerConfig;
use tailwater_tests::{Bystander, Call, ECHO, LARGE, Peer, Served, controller, eventually, peak};

const PEERS: usize = 8;
const ANSWER: u32 = 16 << 10;

/// Pushes until the server has had enough.
fn push(mut peer: Peer, call: &[u8]) -> u64 {
    let mut pushed = 0;
    while peer.try_say(call) {
        pushed += 1;
    }
    pushed
}

fn all_push(served: &Served, bytes: &[u8]) {
    let bystander = Bystander::of(served);
    let before = served.server.totals().slow_readers;
    std::thread::scope(|scope| {
        for _ in 0..PEERS {
            let peer = served.greeted();
            scope.spawn(|| push(peer, bytes));
        }
        bystander.goes_on();
    });
    let cut = before + PEERS as u64;
    eventually("all are cut off", || served.server.totals().slow_readers == cut);
    bystander.is_unhurt();
}

#[test]
fn who_never_reads_costs_bounded_memory_and_is_cut_off() {
    // Out of patience: the server stops reading, waits a while, and closes.
    let config = ServerConfig {
        output_high: 128 << 10,
        // A client that a busy machine holds up amid a frame for as long is cut off for another reason.
        patience: Duration::from_secs(1),
        // What waits to be served is another file's matter.
        pending_max: 64,
        ..ServerConfig::default()
    };
    let served = Served::start(config.clone(), controller("none", &[]));
    let before = peak();
    all_push(&served, &Call::new(1, ECHO, &[7; ANSWER as usize]).bytes());
    let each = peak().saturating_sub(before) / PEERS;
    assert!(each < 4 << 20, "{each} bytes for each client that does not read");

    // Small requests with large answers: they are not even made while the others are not read.
    let config = ServerConfig { pending_max: 1_024, ..config };
    let served = Served::start(config, controller("none", &[]));
    let before = peak();
    let call = Call::new(1, LARGE, &ANSWER.to_le_bytes()).bytes();
    all_push(&served, &call.repeat(1_024));
    let each = peak().saturating_sub(before) / PEERS;
    assert!(each < 4 << 20, "{each} bytes for each client that does not read");
}
