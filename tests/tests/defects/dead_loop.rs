//! Loops that die: the server ends with them, and no client is left to hang.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;
use tailwater_control::Site;
use tailwater_control::catalog::Spec;
use tailwater_core::{Event, Silent};
use tailwater_rt::{Address, Reply, Request, Router, Server, ServerConfig};
use tailwater_tests::{Call, ECHO, Heard, Peer, SLO, controller, hello};
use tailwater_wire::{VERSION_MAX, VERSION_MIN};

fn echo() -> Router {
    Router::new().route(ECHO, |request: Request| async { Reply::ok(request.payload) })
}

/// Says HELLO on new connections; how many of them hear neither an answer nor an end.
fn hanging(address: &Address, clients: u32) -> u32 {
    let Address::Tcp(address) = address else {
        panic!("TCP is needed, {address} found");
    };
    let hangs = || {
        let Ok(mut stream) = TcpStream::connect(address) else {
            return false;
        };
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("above zero");
        let _ = stream.write_all(&hello(VERSION_MIN, VERSION_MAX));
        let silent = |error: std::io::Error| {
            matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
        };
        stream.read(&mut [0; 64]).is_err_and(silent)
    };
    (0..clients).map(|_| u32::from(hangs())).sum()
}

/// Refused at the start, or served by every loop; not accepted and half dead.
#[test]
fn a_controller_that_was_built_for_fewer_loops_is_refused() {
    for name in ["breakwater", "dagor", "codel", "gradient"] {
        let few = Spec::named(name).build(&Site::one_loop(SLO, 1)).expect("the test's controller");
        let config = ServerConfig { loops: 2, ..ServerConfig::default() };
        if let Ok(server) = Server::start(config, few.admission, echo()) {
            let mut clients = [Peer::connect(server.address()), Peer::connect(server.address())];
            for peer in &mut clients {
                peer.say(
                    &[hello(VERSION_MIN, VERSION_MAX), Call::new(1, ECHO, b"").bytes()].concat(),
                );
            }
            let heard = clients.map(|mut peer| [peer.hear(), peer.hear()]);
            let served = |heard: &[Heard; 2]| matches!(heard[1], Heard::Response(..));
            assert!(heard.iter().all(served), "{name}: started, and then: {heard:?}");
            assert_eq!(hanging(server.address(), 4), 0, "{name}: clients that hang");
        }
    }
}

#[test]
fn a_loop_that_dies_leaves_no_client_to_hang() {
    for loops in [1, 2, 3] {
        let armed = Arc::new(AtomicBool::new(false));
        let observe = |index| -> Box<dyn tailwater_core::Observer + Send> {
            let armed = armed.clone();
            let dies = move |_, event: &Event| {
                let registered = matches!(event, Event::Registered(_));
                assert!(!(registered && armed.load(SeqCst)), "the test's observer gives up");
            };
            if index + 1 == loops { Box::new(dies) } else { Box::new(Silent) }
        };
        let config = ServerConfig { loops, ..ServerConfig::default() };
        let breakwater = controller("breakwater", &[]);
        let server = Server::start_observed(config, breakwater.admission, echo(), observe)
            .expect("the test's server starts");
        // Connections go to the loops in turn: the last of these is the dying loop's.
        let mut peers: Vec<Peer> = (0..loops).map(|_| Peer::connect(server.address())).collect();
        for peer in &mut peers {
            peer.greet();
        }
        armed.store(true, SeqCst);
        let last = peers.last_mut().expect("a loop has a client");
        last.call(&Call::new(1, ECHO, b""));
        last.hear_out();
        let hanging = hanging(server.address(), 2 * u32::try_from(loops).expect("few"));
        assert_eq!(hanging, 0, "new clients that hang, of a server of {loops} loops");
    }
}

/// What a panic carries may panic when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "the payload of a panic panics too");
    }
}

#[test]
fn a_panic_whose_payload_panics_costs_its_own_request_only() {
    use tailwater_rt::Placement;
    const BOMB: u16 = 2;
    const LATER: u16 = 3;
    for placement in [Placement::Inline, Placement::Workers(1)] {
        let router = echo().route(BOMB, |_| async { std::panic::panic_any(Bomb) as Reply }).route(
            LATER,
            |_| async {
                tailwater_rt::time::yield_now().await;
                std::panic::panic_any(Bomb) as Reply
            },
        );
        let config = ServerConfig { model: placement.into(), ..ServerConfig::default() };
        let server = Server::start(config, controller("none", &[]).admission, router);
        let server = server.expect("the test's server starts");
        for method in [BOMB, LATER] {
            let mut peer = Peer::connect(server.address());
            peer.greet();
            peer.call(&Call::new(1, method, b""));
            let heard = peer.hear();
            assert!(matches!(heard, Heard::Response(1, ..)), "{placement}, {method}: {heard:?}");
            peer.call(&Call::new(2, ECHO, b""));
            let heard = peer.hear();
            assert!(matches!(heard, Heard::Response(2, ..)), "{placement}, {method}: {heard:?}");
        }
    }
}
