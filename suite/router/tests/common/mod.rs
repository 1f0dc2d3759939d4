//! Nodes and routers for tests, each of which uses a part of it.

#![allow(dead_code, reason = "each test file uses its own part of this")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
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

    /// A number of `stats`.
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

pub(crate) fn eventually(what: &str, mut is: impl FnMut() -> bool) {
    let began = std::time::Instant::now();
    while !is() {
        assert!(began.elapsed() < Duration::from_secs(60), "{what}, never");
        std::thread::sleep(Duration::from_millis(1));
    }
}
