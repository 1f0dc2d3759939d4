//! Drains: what was accepted is answered and reaches its client, and each client hears the end.

use super::support::{HANG, Hung, Pace};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;
use tailwater_rt::{Reply, Router, Server, ServerConfig};
use tailwater_tests::{Call, ECHO, Heard, LARGE, Peer, Served, controller, eventually};
use tailwater_wire::{GoodbyeCode, VERSION_MAX, VERSION_MIN};

/// 20 MiB of answers, taken at some MB/s for as long as the drain may last.
#[test]
fn answers_that_were_made_before_a_drain_are_sent_to_the_end() {
    const ANSWERS: u64 = 20;
    let config = ServerConfig {
        output_high: 64 << 20,
        patience: Duration::from_secs(60),
        ..ServerConfig::default()
    };
    let served = Served::start(config, controller("none", &[]));
    let pace = Pace::of(Duration::from_millis(5));
    let mut peer = served.peer();
    peer.greet();
    for id in 0..ANSWERS {
        peer.call(&Call::new(id, LARGE, &((1_u32 << 20) - 40).to_le_bytes()));
    }
    eventually("all are answered", || served.server.totals().served == ANSWERS);
    let Served { server, .. } = served;
    let draining = std::thread::spawn(move || server.drain(Duration::from_secs(120)));
    let whole = ANSWERS as usize * (1 << 20);
    let mut taken = 0;
    while taken < whole {
        pace.step();
        match peer.swallow((whole - taken).min(32 << 10)) {
            0 => break,
            count => taken += count,
        }
    }
    assert_eq!(taken, whole, "bytes of answers before the end");
    assert_eq!(peer.farewell(), GoodbyeCode::Draining);
    drop(peer);
    assert!(draining.join().is_ok());
}

#[test]
fn a_drain_without_a_limit_begins_and_ends_when_all_is_done() {
    let served = Served::breakwater();
    let mut peer = served.peer();
    peer.greet();
    let Served { server, .. } = served;
    let draining = std::thread::spawn(move || server.drain(Duration::MAX));
    assert_eq!(peer.farewell(), GoodbyeCode::Draining);
    drop(peer);
    eventually("the drain ends", || draining.is_finished());
}

#[test]
fn a_drain_at_the_end_of_its_patience_says_goodbye() {
    let (served, hung) = Hung::start(ServerConfig::default(), controller("none", &[]));
    let mut peer = served.peer();
    peer.greet();
    peer.call(&Call::new(1, HANG, b""));
    eventually("its handler runs", || hung.begun() == 1);
    let Served { server, .. } = served;
    let draining = std::thread::spawn(move || server.drain(Duration::from_millis(50)));
    assert_eq!(peer.farewell(), GoodbyeCode::Draining);
    drop(peer);
    assert!(draining.join().is_ok());
}

const SPIN: u16 = 1;
const HELD: u16 = 2;

/// Handlers that keep their loop until the test lets each of them go.
#[derive(Clone, Default)]
struct Spins {
    begun: Arc<AtomicU32>,
    released: Arc<AtomicU32>,
}

impl Spins {
    fn router(&self) -> Router {
        let spins = self.clone();
        Router::new()
            .route(SPIN, move |_| {
                let number = spins.begun.fetch_add(1, SeqCst);
                while spins.released.load(SeqCst) <= number {
                    std::thread::yield_now();
                }
                async { Reply::ok(Vec::new()) }
            })
            .route(HELD, |_| std::future::pending::<Reply>())
    }

    fn begun(&self) -> u32 {
        self.begun.load(SeqCst)
    }

    fn release(&self) {
        self.released.fetch_add(1, SeqCst);
    }
}

/// The loop that accepts finds new clients behind a handler that takes long; the other loop, idle, ends
/// meanwhile.
#[test]
fn a_client_that_comes_while_a_drain_begins_hears_something() {
    let spins = Spins::default();
    let config = ServerConfig { loops: 2, ..ServerConfig::default() };
    let server = Server::start(config, controller("none", &[]).admission, spins.router());
    let server = server.expect("the test's server starts");
    let address = server.address().clone();
    // Connections go to the loops in turn: the first to the one that accepts.
    let [mut held, mut idle, mut busy] = [(); 3].map(|()| Peer::connect(&address));
    held.greet();
    idle.greet();
    busy.greet();
    held.say(&[Call::new(1, HELD, b"").bytes(), Call::new(2, SPIN, b"").bytes()].concat());
    eventually("the first loop spins", || spins.begun() == 1);
    // One look at the sockets will find these together, and in this order.
    busy.call(&Call::new(1, SPIN, b""));
    let mut late: Vec<Peer> = (0..6).map(|_| Peer::connect(&address)).collect();
    spins.release();
    eventually("it spins again", || spins.begun() == 2);
    let draining = std::thread::spawn(move || server.drain(Duration::from_secs(3_600)));
    assert_eq!(idle.farewell(), GoodbyeCode::Draining);
    drop(idle);
    // The second loop looks once a millisecond whether it is done.
    let pace = Pace::of(Duration::from_millis(5));
    (0..20).for_each(|_| pace.step());
    spins.release();
    for peer in &mut late {
        peer.say(&tailwater_tests::hello(VERSION_MIN, VERSION_MAX));
        let heard = peer.hear();
        let apt =
            matches!(heard, Heard::Welcome(_) | Heard::Goodbye(..) | Heard::End | Heard::Reset);
        assert!(apt, "{heard:?}");
    }
    drop((held, busy, late));
    eventually("the drain ends with its last client", || draining.is_finished());
}

/// Requests that arrive while the server drains are refused as long as others are being served.
#[test]
fn what_comes_during_a_drain_is_refused_and_what_came_before_is_answered() {
    use tailwater_control::Reason;
    let served = Served::start(ServerConfig::default(), controller("none", &[]));
    let (mut peer, mut other) = (served.peer(), served.peer());
    peer.greet();
    other.greet();
    peer.call(&Call::new(1, tailwater_tests::WAIT, b"before"));
    eventually("it runs", || served.gate.arrived() == 1);
    let (gate, server) = (served.gate.clone(), served.server);
    let draining = std::thread::spawn(move || server.drain(Duration::from_secs(3_600)));
    assert_eq!(other.farewell(), GoodbyeCode::Draining);
    peer.call(&Call::new(2, ECHO, b"during"));
    let heard = peer.hear();
    let draining_now = Reason::Draining as u16;
    assert!(matches!(heard, Heard::Reject(2, why, _) if why == draining_now), "{heard:?}");
    gate.open();
    let heard = peer.hear();
    assert!(matches!(heard, Heard::Response(1, ..)), "{heard:?}");
    assert_eq!(peer.farewell(), GoodbyeCode::Draining);
    drop((peer, other));
    assert!(draining.join().is_ok());
}
