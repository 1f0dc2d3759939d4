//! Clients that are slow: to greet, to write, to read.

use std::time::{Duration, Instant};
use tailwater_rt::ServerConfig;
use tailwater_tests::{
    Bystander, Call, ECHO, Heard, LARGE, Peer, Served, controller, eventually, hello,
};
use tailwater_wire::{GoodbyeCode, VERSION_MAX, VERSION_MIN};

#[test]
fn who_does_not_finish_his_hello_is_sent_away() {
    let config = ServerConfig { patience: Duration::from_millis(50), ..ServerConfig::default() };
    let served = Served::start(config, controller("breakwater", &[]));
    let bystander = Bystander::of(&served);
    let whole = hello(VERSION_MIN, VERSION_MAX);
    for length in [0, 1, 8, whole.len() - 1] {
        let mut peer = served.peer();
        peer.say(&whole[..length]);
        assert_eq!(peer.farewell(), GoodbyeCode::Idle, "after {length} bytes");
    }
    // A client that has greeted may be silent for as long as it likes.
    let mut silent = served.greeted();
    for _ in 0..10 {
        assert_eq!(served.peer().farewell(), GoodbyeCode::Idle, "patience has passed once more");
    }
    silent.call(&Call::new(1, ECHO, b"here again"));
    assert!(matches!(silent.hear(), Heard::Response(1, ..)));
    bystander.is_unhurt();
}

#[test]
fn who_stops_inside_a_frame_is_sent_away() {
    let config = ServerConfig { patience: Duration::from_millis(50), ..ServerConfig::default() };
    let served = Served::start(config, controller("breakwater", &[]));
    let bystander = Bystander::of(&served);
    let request = Call::new(1, ECHO, b"unfinished").bytes();
    for length in [1, request.len() / 2, request.len() - 1] {
        let mut peer = served.greeted();
        peer.say(&request[..length]);
        assert_eq!(peer.farewell(), GoodbyeCode::Idle, "after {length} bytes");
    }
    bystander.is_unhurt();
}

#[test]
fn bytes_that_come_one_at_a_time_are_served() {
    // Without windows: the kernel may put the bytes of several requests together again.
    let served = Served::start(ServerConfig::default(), controller("none", &[]));
    let mut peer = served.peer();
    let mut all = hello(VERSION_MIN, VERSION_MAX);
    for id in 1..=3 {
        all.extend(Call::new(id, ECHO, b"drop by drop").bytes());
    }
    for byte in all {
        peer.say(&[byte]);
    }
    assert!(matches!(peer.hear(), Heard::Welcome(_)));
    for id in 1..=3 {
        let heard = peer.hear();
        let fits = matches!(&heard, Heard::Response(n, payload, _)
            if *n == id && payload == b"drop by drop");
        assert!(fits, "{heard:?}");
    }
}

/// The test's server loses patience after this.
const PATIENCE: Duration = Duration::from_millis(800);

/// Takes `whole` bytes at 8 MB/s. False when that says nothing, because this reader itself stood
/// still for too long: the machine was suspended, or is hopelessly busy.
fn takes_slowly(peer: &mut Peer, whole: usize) -> bool {
    let (mut taken, mut last) = (0, Instant::now());
    let mut stood_still = false;
    while taken < whole {
        let count = peer.swallow((whole - taken).min(64 << 10));
        stood_still |= last.elapsed() > PATIENCE / 4;
        last = Instant::now();
        if count == 0 {
            assert!(stood_still, "cut off after {taken} of {whole} bytes");
            return false;
        }
        taken += count;
        // Here the stall is the test.
        std::thread::sleep(Duration::from_millis(8));
    }
    true
}

/// 24 MiB of answers: far more than the sockets hold, taken for far longer than the server's
/// patience, and never without progress.
#[test]
fn who_reads_slowly_but_reads_is_not_cut_off() {
    const ANSWER: usize = 512 << 10;
    const ANSWERS: usize = 48;
    let config =
        ServerConfig { patience: PATIENCE, output_high: 64 << 20, ..ServerConfig::default() };
    let served = Served::start(config, controller("none", &[]));
    let bystander = Bystander::of(&served);
    let asked = u32::try_from(ANSWER).expect("small").to_le_bytes();
    let read_to_the_end = (0..5).any(|_| {
        let mut peer = served.peer();
        peer.greet();
        for id in 0..ANSWERS as u64 {
            peer.call(&Call::new(id, LARGE, &asked));
        }
        let whole = takes_slowly(&mut peer, ANSWERS * (40 + ANSWER));
        if whole {
            peer.call(&Call::new(99, ECHO, b"still there"));
            assert!(matches!(peer.hear(), Heard::Response(99, ..)));
        }
        whole
    });
    assert!(read_to_the_end, "this machine stands still all the time");
    bystander.is_unhurt();
}

#[test]
fn a_client_that_stops_inside_a_request_holds_nobody_else_up() {
    let served = Served::breakwater();
    let bystander = Bystander::of(&served);
    let call = Call::new(1, ECHO, &[1; 100_000]).bytes();
    let (half, rest) = call.split_at(call.len() / 2);
    let mut peer = served.peer();
    peer.greet();
    peer.say(half);
    bystander.goes_on();
    peer.say(rest);
    assert!(matches!(peer.hear(), Heard::Response(1, ..)));
    bystander.is_unhurt();
    eventually("both are counted", || served.server.totals().protocol_errors == 0);
}
