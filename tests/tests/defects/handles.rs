//! Servers, clients and calls that are dropped in odd places.

use super::support::PATIENT;
use std::future::Future as _;
use std::net::TcpStream;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::time::Duration;
use tailwater_rt::client::{ChannelConfig, Client};
use tailwater_rt::{Address, Placement, Reply, Router, Server, ServerConfig};
use tailwater_tests::{Call, ECHO, Peer, Served, controller, eventually};

/// Drops the last handle on its client, on whatever thread it is woken.
struct LetsGo {
    client: Mutex<Option<Client>>,
    dropped: AtomicBool,
}

impl Wake for LetsGo {
    fn wake(self: Arc<Self>) {
        let client = self.client.lock().expect("no panic yet").take();
        drop(client);
        self.dropped.store(true, SeqCst);
    }
}

#[test]
fn the_last_handle_of_a_client_may_be_dropped_by_the_waker_of_its_call() {
    let served = Served::start(ServerConfig::default(), controller("none", &[]));
    let client = served.client();
    let mut call = pin!(client.call_with(tailwater_tests::WAIT, "", PATIENT));
    let lets_go = LetsGo { client: Mutex::new(Some(client)), dropped: AtomicBool::new(false) };
    let lets_go = Arc::new(lets_go);
    let waker = Waker::from(lets_go.clone());
    assert!(call.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    served.gate.open();
    eventually("it is dropped, and nothing panics", || lets_go.dropped.load(SeqCst));
    assert!(call.as_mut().poll(&mut Context::from_waker(&waker)).is_ready());
    eventually("the connection is closed", || served.server.totals().closed == 1);
}

/// A handler that ends its own server by `end`; true once `end` has returned to it.
fn ends_in_a_handler(placement: Placement, end: fn(Server)) -> (Peer, Address, Arc<AtomicBool>) {
    let held: Arc<Mutex<Option<Server>>> = Arc::default();
    let ended = Arc::new(AtomicBool::new(false));
    let (taken, told) = (held.clone(), ended.clone());
    let router = Router::new().route(1, move |_| {
        let server = taken.lock().expect("no panic").take();
        let told = told.clone();
        async move {
            end(server.expect("it was put there"));
            told.store(true, SeqCst);
            Reply::ok(Vec::new())
        }
    });
    let config = ServerConfig { model: placement.into(), loops: 2, ..ServerConfig::default() };
    let server = Server::start(config, controller("none", &[]).admission, router);
    let server = server.expect("the test's server starts");
    let address = server.address().clone();
    let mut held = held.lock().expect("no panic");
    *held = Some(server);
    drop(held);
    let mut peer = Peer::connect(&address);
    peer.greet();
    peer.call(&Call::new(1, 1, b""));
    (peer, address, ended)
}

fn nobody_listens(address: &Address) -> bool {
    let Address::Tcp(address) = address else {
        return false;
    };
    TcpStream::connect(address).is_err()
}

#[test]
fn a_server_may_be_dropped_by_one_of_its_handlers() {
    for placement in [Placement::Inline, Placement::Workers(2)] {
        let (mut peer, address, ended) = ends_in_a_handler(placement, drop::<Server>);
        eventually("the drop returns, and nothing panics", || ended.load(SeqCst));
        peer.hear_out();
        eventually("nobody listens any more", || nobody_listens(&address));
    }
}

#[test]
fn a_server_may_be_drained_by_one_of_its_handlers() {
    for placement in [Placement::Inline, Placement::Workers(2)] {
        let end = |server: Server| drop(server.drain(Duration::from_millis(50)));
        let (mut peer, address, ended) = ends_in_a_handler(placement, end);
        eventually("the drain returns, and nothing panics", || ended.load(SeqCst));
        peer.hear_out();
        eventually("nobody listens any more", || nobody_listens(&address));
    }
}

#[test]
fn calls_that_were_dropped_before_a_connection_stood_are_not_made() {
    let name = format!("tailwater-defects-{}-recalled", std::process::id());
    let path = std::env::temp_dir().join(name);
    let _ = std::fs::remove_file(&path);
    let listen = Address::Unix(path);
    let none = controller("none", &[]);
    let config = ChannelConfig {
        backoff_max: Duration::from_millis(20),
        ..ChannelConfig::new(listen.clone())
    };
    let client = Client::connect_with(config, &none).expect("a client starts");
    let calls: Vec<_> = (0..500).map(|_| client.call_with(ECHO, "in vain", PATIENT)).collect();
    drop(calls);
    let last = client.call_with(ECHO, "wanted", PATIENT);
    let config = ServerConfig { listen, ..ServerConfig::default() };
    let served = Served::start(config, none);
    assert!(last.wait().is_ok());
    // Calls leave in order, so the others came before the last one or not at all.
    eventually("the last one is counted", || served.server.totals().received > 0);
    assert_eq!(served.server.totals().received, 1, "requests for one caller");
}
