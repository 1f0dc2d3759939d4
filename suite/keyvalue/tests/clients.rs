//! Clients that others wrote, over TCP.

use memcache::Client;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tailwater_keyvalue::locks::{Blocking, Plain, Threads};
use tailwater_keyvalue::memcached::{Front, TcpConfig, TcpServer};
use tailwater_keyvalue::store::{Config, Store};

fn server<L: Blocking>() -> TcpServer {
    let store = Store::<L>::new(Config::default()).expect("a store");
    let front = Arc::new(Front::new(store, None));
    TcpServer::start(front, "127.0.0.1:0", TcpConfig::default()).expect("a server")
}

fn client(server: &TcpServer) -> Client {
    Client::connect(format!("memcache://{}?protocol=ascii", server.address())).expect("a client")
}

#[test]
fn a_stock_client_with_budgeted_locks() {
    use_it(&client(&server::<Threads>()));
}

#[test]
fn a_stock_client_with_plain_locks() {
    use_it(&client(&server::<Plain>()));
}

fn use_it(client: &Client) {
    assert!(client.version().expect("versions")[0].1.contains("tailwater"));
    assert_eq!(client.get::<String>("key").expect("a miss"), None);
    client.set("key", "value", 0).expect("stored");
    assert_eq!(client.get::<String>("key").expect("a hit").as_deref(), Some("value"));
    client.append("key", "-2").expect("appended");
    client.prepend("key", "1-").expect("prepended");
    assert_eq!(client.get::<String>("key").expect("a hit").as_deref(), Some("1-value-2"));
    // This client does not tell whether it was stored.
    client.add("key", "other", 0).expect("not stored");
    assert_eq!(client.get::<String>("key").expect("a hit").as_deref(), Some("1-value-2"));
    client.replace("key", 41_u64, 100).expect("replaced");
    assert_eq!(client.increment("key", 1).expect("a number"), 42);
    assert!(client.touch("key", 1_000).expect("touched"));
    type WithCas = (u64, u32, Option<u64>);
    let all = client.gets::<WithCas>(&["key", "none"]).expect("several");
    assert_eq!((all.len(), all["key"].0), (1, 42));
    let unique = all["key"].2.expect("a CAS unique");
    assert!(client.cas("key", "new", 0, unique).expect("swapped"));
    assert!(!client.cas("key", "newer", 0, unique).expect("not swapped"));
    assert!(client.delete("key").expect("deleted"));
    assert!(!client.delete("key").expect("not there"));
    let large = vec![7_u8; 1 << 20];
    client.set("large", &large[..], 0).expect("stored");
    assert_eq!(client.get::<Vec<u8>>("large").expect("a hit"), Some(large));
    client.flush().expect("flushed");
    assert_eq!(client.get::<String>("large").expect("a miss"), None);
    assert_eq!(client.stats().expect("statistics").len(), 1);
}

#[test]
fn connections_are_bounded_and_freed() {
    let store = Store::<Threads>::new(Config::default()).expect("a store");
    let config = TcpConfig { connections_max: 1, ..TcpConfig::default() };
    let server = TcpServer::start(Arc::new(Front::new(store, None)), "127.0.0.1:0", config)
        .expect("a server");
    let mut first = TcpStream::connect(server.address()).expect("connected");
    let mut second = TcpStream::connect(server.address()).expect("connected");
    let mut answer = String::new();
    second.read_to_string(&mut answer).expect("an answer and the end");
    assert_eq!(answer, "ERROR Too many open connections\r\n");
    first.write_all(b"get a\r\nquit\r\n").expect("sent");
    let mut answer = String::new();
    first.read_to_string(&mut answer).expect("an answer and the end");
    assert_eq!(answer, "END\r\n");
    // Its thread may still be about to end.
    while !is_served(&server) {
        std::thread::yield_now();
    }
}

fn is_served(server: &TcpServer) -> bool {
    let mut further = TcpStream::connect(server.address()).expect("connected");
    let mut answer = String::new();
    // It may have been turned away, and closed, already.
    let _ = further.write_all(b"version\r\nquit\r\n");
    let _ = further.read_to_string(&mut answer);
    answer.starts_with("VERSION ")
}

/// A connection takes one descriptor, and a server that has none left can be stopped.
#[test]
fn with_few_descriptors_many_are_served_and_stopping_ends() {
    let mut server = Command::new("sh")
        .args(["-c", "ulimit -n 64; exec \"$0\" --listen 127.0.0.1:0 --memory 4"])
        .arg(env!("CARGO_BIN_EXE_tailwater-keyvalue"))
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    let said = server.stdout.take().expect("a pipe");
    BufReader::new(said).read_line(&mut line).expect("its address");
    let address = line.trim().strip_prefix("listening on ").expect("its address").to_owned();
    let connect = |_| TcpStream::connect(&address).expect("connected: the backlog is long");
    let mut streams: Vec<TcpStream> = (0..80).map(connect).collect();
    for (number, stream) in streams.iter_mut().take(48).enumerate() {
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("set");
        stream.write_all(b"version\r\n").expect("sent");
        let mut first = [0; 1];
        stream.read_exact(&mut first).unwrap_or_else(|error| panic!("{number}: {error}"));
    }
    let id = server.id().to_string();
    assert!(Command::new("sh").args(["-c", "kill $0", &id]).status().expect("sent").success());
    assert!(server.wait().expect("it ends").success());
}

/// A peer that only listens must not keep the server from stopping.
#[test]
fn stopping_ends_idle_connections() {
    let server = server::<Threads>();
    let mut idle = TcpStream::connect(server.address()).expect("connected");
    idle.write_all(b"version\r\n").expect("sent");
    let mut first = [0; 1];
    idle.read_exact(&mut first).expect("an answer: it is connected");
    drop(server);
    let mut rest = Vec::new();
    // Whether it ends with a reset or not depends on what was under way.
    let _ = idle.read_to_end(&mut rest);
}

/// libmemcached's own tests of a server, its tools, and its load generators.
#[test]
fn stock_tools() {
    let server = server::<Threads>();
    let (host, port) = (server.address().ip().to_string(), server.address().port().to_string());
    let at = format!("{host}:{port}");
    // The other half of it speaks the binary protocol, which is not there.
    tool(["memccapable", "memcapable"], &["-h", &host, "-p", &port, "-a", "-t", "5"]);
    for test in ["--test=set", "--test=get", "--test=mget"] {
        let load = ["--servers", &at, "--concurrency=4", "--execute-number=2000", test];
        tool(["memcslap", "memslap"], &load);
    }
    tool(["memcaslap", "memaslap"], &["-s", &at, "-T", "2", "-c", "8", "-x", "20000"]);

    let servers = format!("--servers={at}");
    client(&server).set("key", "value", 0).expect("stored");
    assert!(tool(["memccat", "memcat"], &[&servers, "key"]).contains("value"));
    tool(["memctouch", "memtouch"], &[&servers, "--expire=1000", "key"]);
    tool(["memcexist", "memexist"], &[&servers, "key"]);
    assert!(tool(["memcstat", "memstat"], &[&servers]).contains("curr_items: "));
    tool(["memcrm", "memrm"], &[&servers, "key"]);
    assert_eq!(client(&server).get::<String>("key").expect("a miss"), None);
    tool(["memcping", "memping"], &[&servers]);
    tool(["memcflush", "memflush"], &[&servers]);
}

/// What it said.
fn tool(names: [&str; 2], arguments: &[&str]) -> String {
    // Debian calls them otherwise than their authors do.
    let outputs = names.map(|name| Command::new(name).args(arguments).output());
    let output = outputs.into_iter().find_map(Result::ok);
    let output = output.expect("found none; type: apt-get install libmemcached-tools");
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{} {arguments:?} failed: {said}", names[0]);
    assert!(!said.contains("[FAIL]"), "{} {arguments:?}: {said}", names[0]);
    said
}

/// Python's client.
#[test]
fn pymemcache() {
    let server = server::<Threads>();
    let port = server.address().port().to_string();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pymemcache_client.py");
    // Debian's packages are for Debian's interpreter, which need not be the first.
    let is_there = |python: &&str| {
        let output = Command::new(python).args(["-c", "import pymemcache"]).output();
        output.is_ok_and(|output| output.status.success())
    };
    let python = ["/usr/bin/python3", "python3"].into_iter().find(is_there);
    let python = python.expect("found no pymemcache; type: apt-get install python3-pymemcache");
    let output = Command::new(python).args([script, &port]).output().expect("it starts");
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(said.starts_with("pymemcache "), "{said}");
}
