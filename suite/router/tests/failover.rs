//! Nodes that die, come back, and come back with what is old by now: no answer is wrong.

mod common;

use common::{Wire, anywhere, config, eventually, node, router_of, router_with};
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tailwater_keyvalue::memcached::TcpServer;
use tailwater_router::nodes::NodesConfig;
use tailwater_router::oracle::{Versions, Wrong};

/// What stands between a router and a node: it can be cut, while the node keeps what it has.
struct Gate {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    node: SocketAddr,
    is_open: AtomicBool,
    /// It says of `flush_all` that it was done: a node that does not forget.
    lies: AtomicBool,
    /// It passes nothing on, and keeps the connection: a node that hangs.
    hangs: AtomicBool,
    streams: Mutex<Vec<TcpStream>>,
}

impl Gate {
    fn to(node: SocketAddr) -> Self {
        let listener = TcpListener::bind(anywhere()).expect("a port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            node,
            is_open: true.into(),
            lies: false.into(),
            hangs: false.into(),
            streams: Mutex::default(),
        });
        let of_thread = shared.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                of_thread.pass(&stream);
            }
        });
        Self { address, shared }
    }

    fn cut(&self) {
        self.shared.is_open.store(false, SeqCst);
        for stream in self.shared.streams.lock().expect("sound").drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn open(&self) {
        self.shared.is_open.store(true, SeqCst);
    }
}

impl Shared {
    fn pass(self: &Arc<Self>, stream: &TcpStream) {
        let Ok(node) = TcpStream::connect(self.node) else { return };
        {
            let mut streams = self.streams.lock().expect("sound");
            streams.push(stream.try_clone().expect("a socket"));
            streams.push(node.try_clone().expect("a socket"));
            if !self.is_open.load(SeqCst) {
                let _ = stream.shutdown(Shutdown::Both);
                return;
            }
        }
        let [to_node, to_router] = [(stream, &node), (&node, stream)].map(|(from, to)| {
            (from.try_clone().expect("a socket"), to.try_clone().expect("a socket"))
        });
        let shared = self.clone();
        std::thread::spawn(move || shared.copy(to_node, true));
        let shared = self.clone();
        std::thread::spawn(move || shared.copy(to_router, false));
    }

    fn copy(&self, (mut from, mut to): (TcpStream, TcpStream), is_to_node: bool) {
        let mut bytes = [0; 4_096];
        while let Ok(read @ 1..) = from.read(&mut bytes) {
            let mut rest = &bytes[..read];
            if is_to_node
                && self.lies.load(SeqCst)
                && let Some(after) = rest.strip_prefix(b"flush_all\r\n")
            {
                let _ = from.write_all(b"OK\r\n");
                rest = after;
            }
            while self.hangs.load(SeqCst) && self.is_open.load(SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
            if !rest.is_empty() && to.write_all(rest).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    }
}

/// Writers and readers of some keys, until they are told to stop.
struct Traffic {
    stops: Arc<AtomicBool>,
    gets: Arc<AtomicU64>,
    sets: Arc<AtomicU64>,
    threads: Vec<std::thread::JoinHandle<Result<(), (u32, Wrong)>>>,
}

const KEYS: u32 = 40;

impl Traffic {
    /// One writer for each of three parts of the keys, two readers for all.
    fn at(router: SocketAddr) -> Self {
        let versions = Arc::new(Versions::of(KEYS, 1));
        let stops = Arc::new(AtomicBool::new(false));
        let (gets, sets) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let mut threads = Vec::new();
        for part in 0..3 {
            let (versions, stops, sets) = (versions.clone(), stops.clone(), sets.clone());
            threads.push(std::thread::spawn(move || {
                let mut client = Wire::to(router);
                while !stops.load(SeqCst) {
                    for key in (part..KEYS).step_by(3) {
                        let version = versions.issue(key);
                        if client.set(&format!("key-{key}"), &versions.value(key, version)).is_ok()
                        {
                            versions.acknowledge(key, version);
                            sets.fetch_add(1, SeqCst);
                        }
                    }
                }
                Ok(())
            }));
        }
        for reader in 0..2 {
            let (versions, stops, gets) = (versions.clone(), stops.clone(), gets.clone());
            threads.push(std::thread::spawn(move || {
                let mut client = Wire::to(router);
                for turn in reader.. {
                    if stops.load(SeqCst) {
                        break;
                    }
                    let key = turn * 7 % KEYS;
                    let expected = versions.expect(key);
                    if let Ok(found) = client.get(&format!("key-{key}")) {
                        versions.check(expected, found.as_deref()).map_err(|wrong| (key, wrong))?;
                        gets.fetch_add(1, SeqCst);
                    }
                }
                Ok(())
            }));
        }
        Self { stops, gets, sets, threads }
    }

    /// Until so many more gets and sets have succeeded, or something was wrong.
    fn go_on(&self, more: u64) {
        let goal = [&self.gets, &self.sets].map(|count| count.load(SeqCst) + more);
        eventually("traffic goes on", || {
            let is_over = self.threads.iter().any(std::thread::JoinHandle::is_finished);
            is_over || self.gets.load(SeqCst) >= goal[0] && self.sets.load(SeqCst) >= goal[1]
        });
    }

    fn end(self) -> Result<(), (u32, Wrong)> {
        self.stops.store(true, SeqCst);
        let ends = self.threads.into_iter().map(|thread| thread.join().expect("no panic"));
        ends.collect()
    }
}

#[test]
fn of_three_replicas_a_node_that_dies_and_one_that_comes_back_empty_make_no_answer_wrong() {
    let mut nodes: Vec<Option<TcpServer>> = (0..3).map(|_| Some(node(anywhere()))).collect();
    let addresses: Vec<_> =
        nodes.iter().map(|node| node.as_ref().expect("there").address()).collect();
    let router = router_of(&addresses, 3);
    let traffic = Traffic::at(router.address());
    traffic.go_on(300);
    for dies in [0, 1] {
        nodes[dies] = None;
        traffic.go_on(300);
        nodes[dies] = Some(node(addresses[dies]));
        let mut client = Wire::to(router.address());
        let state = format!("{}:state", addresses[dies]);
        eventually("it is asked again", || client.stat(&state) == "up");
        traffic.go_on(300);
    }
    assert_eq!(traffic.end(), Ok(()));
}

/// Three nodes behind gates; the first is cut off, misses writes, and can be reached again.
fn cut_off_and_back(lies: bool) -> Result<(), (u32, Wrong)> {
    let nodes: Vec<TcpServer> = (0..3).map(|_| node(anywhere())).collect();
    let gates: Vec<Gate> = nodes.iter().map(|node| Gate::to(node.address())).collect();
    let addresses: Vec<_> = gates.iter().map(|gate| gate.address).collect();
    let router = router_of(&addresses, 3);
    let traffic = Traffic::at(router.address());
    traffic.go_on(200);
    gates[0].shared.lies.store(lies, SeqCst);
    for _ in 0..3 {
        gates[0].cut();
        traffic.go_on(200);
        gates[0].open();
        let mut client = Wire::to(router.address());
        let state = format!("{}:state", addresses[0]);
        eventually("it is asked again", || client.stat(&state) == "up");
        traffic.go_on(200);
    }
    let mut client = Wire::to(router.address());
    let cleanings: u32 = client.stat(&format!("{}:cleanings", addresses[0])).parse().expect("one");
    // Traffic that found something wrong has ended before.
    assert!(lies || cleanings >= 3, "{cleanings}");
    traffic.end()
}

#[test]
fn a_node_that_was_cut_off_answers_nothing_old() {
    assert_eq!(cut_off_and_back(false), Ok(()));
}

/// The planted fault: without forgetting, old values are answered, and the oracle sees it.
#[test]
fn a_node_that_keeps_what_is_old_is_caught() {
    let found = cut_off_and_back(true);
    assert!(matches!(found, Err((_, Wrong::Old(..)))), "{found:?}");
}

#[test]
fn a_node_that_hangs_is_given_up() {
    let nodes: Vec<TcpServer> = (0..2).map(|_| node(anywhere())).collect();
    let gates: Vec<Gate> = nodes.iter().map(|node| Gate::to(node.address())).collect();
    let addresses: Vec<_> = gates.iter().map(|gate| gate.address).collect();
    let timeout = Duration::from_millis(300);
    let router = router_with(NodesConfig { replicas: 2, timeout, ..config(&addresses) });
    let mut client = Wire::to(router.address());
    assert_eq!(client.set("key", b"old"), Ok(()));
    gates[0].shared.hangs.store(true, SeqCst);
    assert_eq!(client.set("key", b"new"), Ok(()), "the other has it");
    for _ in 0..20 {
        assert_eq!(client.get("key"), Ok(Some(b"new".to_vec())));
    }
    gates[0].cut();
    gates[0].shared.hangs.store(false, SeqCst);
    gates[0].open();
    let state = format!("{}:state", addresses[0]);
    eventually("it is asked again", || client.stat(&state) == "up");
    for _ in 0..20 {
        assert_eq!(client.get("key"), Ok(Some(b"new".to_vec())));
    }
}

#[test]
fn a_node_that_answers_garbage_is_given_up() {
    let good = node(anywhere());
    let listener = TcpListener::bind(anywhere()).expect("a port");
    let bad = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut bytes = [0; 64];
            let _ = stream.read(&mut bytes);
            let _ = stream.write_all(b"VALUE other 0 3\r\nbad\r\nEND\r\nSTORED\r\nSTORED\r\n");
        }
    });
    let router = router_of(&[good.address(), bad], 2);
    let mut client = Wire::to(router.address());
    // What the bad one has said about the write may be anything; what is read is right.
    while client.set("key", b"value").is_err() {}
    for _ in 0..50 {
        assert_eq!(client.get("key"), Ok(Some(b"value".to_vec())));
    }
}

#[test]
fn without_a_node_errors_name_it_and_what_is_wrong() {
    let gone = node(anywhere()).address();
    let router = router_of(&[gone], 1);
    let mut client = Wire::to(router.address());
    for error in [client.get("key").expect_err("gone"), client.set("key", b"x").expect_err("gone")]
    {
        assert!(
            error.starts_with("SERVER_ERROR no replica of the key can be reached; "),
            "{error}"
        );
        assert!(error.contains(&gone.to_string()), "{error}");
    }
    // It is tried again and again.
    let _back = node(gone);
    eventually("it is reached", || client.set("key", b"x").is_ok());
    assert_eq!(client.get("key"), Ok(Some(b"x".to_vec())));
}

/// With one replica nothing is ever forgotten: a write that is not carried out is not acknowledged.
#[test]
fn a_single_replica_keeps_what_it_has() {
    let node = node(anywhere());
    let gate = Gate::to(node.address());
    let router = router_of(&[gate.address], 1);
    let mut client = Wire::to(router.address());
    assert_eq!(client.set("key", b"kept"), Ok(()));
    gate.cut();
    eventually("it is noticed", || client.set("other", b"x").is_err());
    gate.open();
    eventually("it is reached", || client.set("other", b"x").is_ok());
    assert_eq!(client.get("key"), Ok(Some(b"kept".to_vec())));
}
