//! Peers that are silent, slow, many or greedy, over TCP.

use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;
use tailwater_keyvalue::locks::{Threads, at_once};
use tailwater_keyvalue::memcached::{Front, TcpConfig, TcpServer};
use tailwater_keyvalue::store::{Config, Put, Store, When};

const MOMENT: Duration = Duration::from_millis(20);
/// Reads of these tests fail after this, instead of waiting for ever.
const GENEROUS: Duration = Duration::from_secs(120);

fn server(config: TcpConfig) -> TcpServer {
    let store = Store::<Threads>::new(Config::default()).expect("a store");
    start(Front::new(store, None), config)
}

fn start(front: Front<Threads>, config: TcpConfig) -> TcpServer {
    TcpServer::start(Arc::new(front), "127.0.0.1:0", config).expect("a server")
}

fn open(server: &TcpServer) -> TcpStream {
    let stream = TcpStream::connect(server.address()).expect("connected");
    stream.set_read_timeout(Some(GENEROUS)).expect("set");
    stream
}

/// Asks for something and reads the answer's first line.
fn ask(mut stream: &TcpStream, command: &[u8]) -> String {
    // It may have been turned away, and closed, already.
    let _ = stream.write_all(command);
    let (mut line, mut byte) = (Vec::new(), [0]);
    while !line.ends_with(b"\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
        line.push(byte[0]);
    }
    String::from_utf8(line).expect("text")
}

/// What comes until the server ends the connection.
fn rest(mut stream: &TcpStream) -> String {
    let mut rest = Vec::new();
    match stream.read_to_end(&mut rest) {
        Err(error) if error.kind() != ErrorKind::ConnectionReset => panic!("{error}"),
        _ => String::from_utf8_lossy(&rest).into_owned(),
    }
}

fn statistic(stream: &TcpStream, name: &str) -> u64 {
    let first = ask(stream, b"stats\r\n");
    let mut found = None;
    let mut line = first;
    while line.starts_with("STAT ") {
        if let Some(value) = line.strip_prefix(&format!("STAT {name} ")) {
            found = Some(value.trim().parse().expect("a number"));
        }
        line = ask(stream, b"");
    }
    assert_eq!(line, "END\r\n");
    found.unwrap_or_else(|| panic!("no statistic {name}"))
}

#[test]
fn a_connection_that_stays_idle_ends() {
    let server = server(TcpConfig { idle_max: Some(MOMENT), ..TcpConfig::default() });
    let spoke = open(&server);
    // On a busy machine it may have ended already.
    let _ = ask(&spoke, b"version\r\n");
    assert_eq!(rest(&spoke), "");
    assert_eq!(rest(&open(&server)), "", "one that never spoke");
}

/// A14: silent connections took all places for ever.
#[test]
fn an_idle_connection_gives_its_place_to_another() {
    let config =
        TcpConfig { connections_max: 2, idle_spared: Duration::ZERO, ..TcpConfig::default() };
    let server = server(config);
    let silent = [open(&server), open(&server)];
    for stream in &silent {
        // Served, and idle from then on.
        assert!(ask(stream, b"version\r\n").starts_with("VERSION "));
    }
    // Until the threads of those two have said that they are idle, it is turned away.
    let served =
        || Some(open(&server)).filter(|stream| ask(stream, b"version\r\n").starts_with('V'));
    let further = std::iter::repeat_with(served).take(100_000).find_map(|served| served);
    let further = further.expect("it is served");
    assert_eq!(statistic(&further, "curr_connections"), 2);
    assert_eq!(statistic(&further, "idle_kicks"), 1);
    let ended =
        silent.iter().filter(|stream| !ask(stream, b"version\r\n").starts_with('V')).count();
    assert_eq!(ended, 1);
}

#[test]
fn a_connection_amid_a_command_keeps_its_place() {
    let config =
        TcpConfig { connections_max: 1, idle_spared: Duration::ZERO, ..TcpConfig::default() };
    let server = server(config);
    let busy = open(&server);
    assert!(ask(&busy, b"version\r\nget k").starts_with("VERSION "));
    assert_eq!(rest(&open(&server)), "ERROR Too many open connections\r\n");
    assert_eq!(ask(&busy, b"ey\r\n"), "END\r\n");
    assert_eq!(statistic(&busy, "rejected_connections"), 1);
}

#[test]
#[cfg(target_os = "linux")] // which has all of 127.0.0.0/8
fn an_address_has_its_share_of_the_places() {
    let server = server(TcpConfig { per_address_max: 2, ..TcpConfig::default() });
    let first = [open(&server), open(&server)];
    for stream in &first {
        assert!(ask(stream, b"version\r\n").starts_with("VERSION "));
    }
    assert_eq!(rest(&open(&server)), "ERROR Too many open connections from your address\r\n");
    let elsewhere = open_from("127.0.0.2:0", &server);
    assert!(ask(&elsewhere, b"version\r\n").starts_with("VERSION "));
}

fn open_from(here: &str, server: &TcpServer) -> TcpStream {
    let descriptor = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
    bind(&descriptor, &here.parse::<SocketAddr>().expect("an address")).expect("bound");
    connect(&descriptor, &server.address()).expect("connected");
    TcpStream::from(descriptor)
}

/// Each byte came within the patience, and the command never.
#[test]
fn a_peer_that_trickles_is_cut_off() {
    let server = server(TcpConfig { patience: MOMENT, ..TcpConfig::default() });
    let mut trickles = open(&server);
    trickles.set_read_timeout(Some(MOMENT / 4)).expect("set");
    let mut sent = 0;
    loop {
        // Fewer than count as progress.
        assert!(sent < 15_000, "it is still open after {sent} bytes");
        let written = trickles.write_all(b"x");
        sent += 1;
        match trickles.read(&mut [0]) {
            Ok(0) => break,
            Err(error) if error.kind() == ErrorKind::WouldBlock && written.is_ok() => {}
            Err(error) if error.kind() == ErrorKind::ConnectionReset => break,
            other => panic!("{written:?}, {other:?}"),
        }
    }
}

#[test]
fn a_peer_that_takes_no_answers_is_cut_off() {
    let store = Store::<Threads>::new(Config::default()).expect("a store");
    let value = vec![b'v'; 1_000_000];
    let put = Put { key: b"k", value: &value, flags: 0, expires: 0, when: When::Always };
    at_once(store.put(put, 1)).expect("stored");
    let server =
        start(Front::new(store, None), TcpConfig { patience: MOMENT, ..TcpConfig::default() });
    let asks = open(&server);
    let mut silent = open(&server);
    // More than the sockets' buffers hold: 100 MB of answers.
    silent.write_all(&[b"get".as_slice(), &b" k".repeat(100), b"\r\n"].concat()).expect("sent");
    let mut ended = false;
    for _ in 0..100_000 {
        ended = statistic(&asks, "total_connections") == 2
            && statistic(&asks, "curr_connections") == 1
            && statistic(&asks, "buffer_bytes_lent") == 0;
        if ended {
            break;
        }
    }
    assert!(ended, "it is still open");
}

/// A peer that is slow and makes progress gets everything.
#[test]
fn large_values_pass_in_both_directions() {
    let server = server(TcpConfig::default());
    let mut asks = open(&server);
    let value = vec![b'v'; 1 << 20];
    let mut command = b"set k 0 0 1048576\r\n".to_vec();
    command.extend_from_slice(&value);
    command.extend_from_slice(b"\r\n");
    for piece in command.chunks(10_000) {
        asks.write_all(piece).expect("sent");
    }
    assert_eq!(ask(&asks, b""), "STORED\r\n");
    assert_eq!(ask(&asks, b"get k k\r\n"), "VALUE k 0 1048576\r\n");
    let mut taken = vec![0; 1 << 20];
    asks.read_exact(&mut taken).expect("the value");
    assert!(taken == value);
    assert_eq!(ask(&asks, b""), "\r\n");
    assert_eq!(ask(&asks, b""), "VALUE k 0 1048576\r\n");
    asks.read_exact(&mut taken).expect("the value");
    assert_eq!(ask(&asks, b"") + &ask(&asks, b""), "\r\nEND\r\n");
    assert_eq!(statistic(&asks, "buffer_bytes_lent"), 0);
}

/// What the others hold is bounded, and another's small commands pass.
#[test]
fn unfinished_commands_together_are_bounded() {
    let store = Store::<Threads>::new(Config::default()).expect("a store");
    let bytes = 2 << 20;
    let server = start(Front::new(store, None).with_buffers(bytes), TcpConfig::default());
    let asks = open(&server);
    let lines: Vec<TcpStream> = (0..8).map(|_| open(&server)).collect();
    for mut stream in &lines {
        // Refused in the middle of it, some of these see a reset.
        let _ = stream.write_all(&[b"get ".as_slice(), &[b'x'; 900_000]].concat());
    }
    let mut refused = 0;
    for _ in 0..100_000 {
        assert!(statistic(&asks, "buffer_bytes_lent") <= bytes as u64);
        refused = 9 - statistic(&asks, "curr_connections");
        if refused >= 5 {
            break;
        }
    }
    assert!(refused >= 5, "{refused} of 8 lines of 900 kB were refused, with 2 MiB for all");
    drop(lines);
    while statistic(&asks, "buffer_bytes_lent") > 0 {
        std::thread::yield_now();
    }
}

#[test]
fn limits_that_cannot_work_are_refused() {
    for (config, expected) in [
        (TcpConfig { connections_max: 0, ..TcpConfig::default() }, "connections_max is 0"),
        (TcpConfig { per_address_max: 0, ..TcpConfig::default() }, "per_address_max is 0"),
        (TcpConfig { idle_max: Some(Duration::ZERO), ..TcpConfig::default() }, "idle_max is 0"),
        (TcpConfig { patience: Duration::ZERO, ..TcpConfig::default() }, "patience is 0"),
    ] {
        let store = Store::<Threads>::new(Config::default()).expect("a store");
        let front = Arc::new(Front::new(store, None));
        let error = TcpServer::start(front, "127.0.0.1:0", config).expect_err("refused");
        assert!(error.to_string().starts_with(expected), "{error}");
    }
}
