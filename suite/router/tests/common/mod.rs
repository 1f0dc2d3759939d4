//! Nodes and routers for tests, each of which uses a part of it.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part of this")]

#[path = "../../../../tests/src/eventually.rs"]
mod waiting;

pub(crate) use waiting::eventually;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tailwater_keyvalue::locks::Threads;
use tailwater_keyvalue::memcached::{Front, TcpConfig, TcpServer};
use tailwater_keyvalue::store::{Config, Store};
use tailwater_router::nodes::NodesConfig;
use tailwater_router::{FrontConfig, Router};
use tailwater_rt::net::Address;

/// A node of our own, at a port of its own or a given one.
pub(crate) fn node(address: SocketAddr) -> TcpServer {
    let store = Store::<Threads>::new(Config::default()).expect("a store");
    let front = Arc::new(Front::new(store, None));
    TcpServer::start(front, address, TcpConfig::default()).expect("a node")
}

pub(crate) fn anywhere() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}

pub(crate) fn router_of(nodes: &[SocketAddr], replicas: usize) -> Router {
    router_with(NodesConfig { replicas, ..config(nodes) })
}

pub(crate) fn config(nodes: &[SocketAddr]) -> NodesConfig {
    let nodes = nodes.iter().map(|address| Address::Tcp(*address)).collect();
    // A busy machine may take seconds for what takes a millisecond.
    let [timeout, settle] = [20_000, 300].map(Duration::from_millis);
    NodesConfig { timeout, settle, ..NodesConfig::new(nodes) }
}

pub(crate) fn router_with(nodes: NodesConfig) -> Router {
    Router::start(&nodes, anywhere(), FrontConfig::default()).expect("a router")
}

/// A client that writes what it is told and reads lines.
pub(crate) struct Wire(BufReader<TcpStream>);

impl Wire {
    pub(crate) fn to(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("connected");
        stream.set_nodelay(true).expect("a socket");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a socket");
        Self(BufReader::new(stream))
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).expect("sent");
    }

    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).expect("a line");
        line.trim_end_matches("\r\n").to_owned()
    }

    pub(crate) fn ask(&mut self, command: &str) -> String {
        self.send(format!("{command}\r\n").as_bytes());
        self.line()
    }

    /// Everything until the other end closes.
    pub(crate) fn rest(&mut self) -> String {
        let mut rest = Vec::new();
        self.0.read_to_end(&mut rest).expect("an end");
        String::from_utf8_lossy(&rest).into_owned()
    }

    /// `Err` with the error's line.
    pub(crate) fn set(&mut self, key: &str, value: &[u8]) -> Result<(), String> {
        let head = format!("set {key} 0 0 {}\r\n", value.len());
        self.send(&[head.as_bytes(), value, b"\r\n"].concat());
        match self.line() {
            line if line == "STORED" => Ok(()),
            line => Err(line),
        }
    }

    /// `Err` with the error's line.
    pub(crate) fn get(&mut self, key: &str) -> Result<Option<Vec<u8>>, String> {
        let line = self.ask(&format!("get {key}"));
        if line == "END" {
            return Ok(None);
        }
        let Some(length) = line.strip_prefix(&format!("VALUE {key} 0 ")) else { return Err(line) };
        let mut value = vec![0; length.parse::<usize>().expect("a length") + 2];
        self.0.read_exact(&mut value).expect("a value");
        value.truncate(value.len() - 2);
        assert_eq!(self.line(), "END");
        Ok(Some(value))
    }

    /// A number of `stats` about a node.
    pub(crate) fn count(&mut self, node: SocketAddr, name: &str) -> u64 {
        self.stat(&format!("{node}:{name}")).parse().expect("a number")
    }

    /// Waits until a node is asked again.
    pub(crate) fn until_up(&mut self, node: SocketAddr) {
        eventually("it is asked again", || self.stat(&format!("{node}:state")) == "up");
    }

    /// A statistic.
    pub(crate) fn stat(&mut self, name: &str) -> String {
        self.send(b"stats\r\n");
        let mut found = None;
        loop {
            let line = self.line();
            if line == "END" {
                return found.unwrap_or_else(|| panic!("no {name} in stats"));
            }
            let line = line.strip_prefix("STAT ").expect("a statistic");
            if let Some(value) = line.strip_prefix(name) {
                found = Some(value.trim().to_owned());
            }
        }
    }
}

/// What stands between a router and a node: it can be cut, while the node keeps what it has.
pub(crate) struct Gate {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    node: SocketAddr,
    is_open: AtomicBool,
    /// It says of what a new connection begins with, each `delete` and `flush_all`, that it was done: a node that does
    /// not forget.
    lies: AtomicBool,
    /// It passes nothing on, and keeps the connection: a node that hangs.
    hangs: AtomicBool,
    streams: Mutex<Vec<TcpStream>>,
}

impl Gate {
    pub(crate) fn to(node: SocketAddr) -> Self {
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

    pub(crate) fn cut(&self) {
        self.shared.is_open.store(false, SeqCst);
        for stream in self.shared.streams.lock().expect("sound").drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Connections that come from now on pass; those before are closed when this returns.
    pub(crate) fn open(&self) {
        let _streams = self.shared.streams.lock().expect("sound");
        self.shared.is_open.store(true, SeqCst);
    }

    /// It passes nothing on, or does so again.
    pub(crate) fn hang(&self, hangs: bool) {
        self.shared.hangs.store(hangs, SeqCst);
    }

    /// It does not pass on what makes a node forget, and says that it was done.
    pub(crate) fn lie(&self, lies: bool) {
        self.shared.lies.store(lies, SeqCst);
    }

    /// Whether the router asks it.
    pub(crate) fn is_there(&self, client: &mut Wire) -> bool {
        client.stat(&format!("{}:state", self.address)) == "up"
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
        let mut is_first = true;
        while let Ok(read @ 1..) = from.read(&mut bytes) {
            let mut rest = &bytes[..read];
            while is_to_node
                && is_first
                && self.lies.load(SeqCst)
                && let Some(end) = rest.iter().position(|byte| *byte == b'\n')
                && let Some(lie) = lie_to(&rest[..=end])
            {
                let _ = from.write_all(lie);
                rest = &rest[end + 1..];
            }
            is_first = false;
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

fn lie_to(command: &[u8]) -> Option<&'static [u8]> {
    match command {
        b"flush_all\r\n" => Some(b"OK\r\n"),
        command => command.starts_with(b"delete ").then_some(b"DELETED\r\n"),
    }
}

/// Until a process or a node has been silent for so long.
pub(crate) fn after(time: Duration) {
    let began = std::time::Instant::now();
    eventually("time passes", || began.elapsed() >= time);
}
