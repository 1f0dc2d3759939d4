//! Peers that are silent: gone with their machine, stopped, or hung.

use super::support::{Fake, within};
use std::fs;
use std::time::Duration;
use tailwater_rt::Address;
use tailwater_rt::client::{ChannelConfig, Client};
use tailwater_tests::{ECHO, Served, controller, eventually};

fn port(address: &Address) -> u16 {
    match address {
        Address::Tcp(address) => address.port(),
        other => panic!("TCP is needed, {other} found"),
    }
}

/// A socket's own port and its peer's, and whether the kernel's keep-alive timer runs for it.
type Row = (u16, u16, bool);

/// The connections of this machine that stand.
fn connections() -> Vec<Row> {
    let table = fs::read_to_string("/proc/net/tcp").expect("this is Linux");
    let port = |field: &str| {
        let (_, port) = field.rsplit_once(':').expect("an address and a port");
        u16::from_str_radix(port, 16).expect("a port in hex")
    };
    let row = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let established = fields[3] == "01";
        // "02" in front of the time: keep-alive.
        established.then(|| (port(fields[1]), port(fields[2]), fields[5].starts_with("02:")))
    };
    table.lines().skip(1).filter_map(row).collect()
}

/// What a loopback can show of machines that vanish: the kernel asks after them.
#[test]
fn the_kernel_asks_after_the_peers_of_both_ends() {
    let served = Served::breakwater();
    let client = served.client();
    assert!(client.call(ECHO, "").wait().is_ok());
    let peers: Vec<_> = (0..5).map(|_| served.peer()).collect();
    eventually("all are in", || served.server.totals().accepted == 6);
    let server = port(served.address());
    let Ok(own) =
        peers.iter().map(|peer| peer.socket().local_addr()).collect::<Result<Vec<_>, _>>()
    else {
        panic!("live sockets");
    };
    let kept = |ours: &dyn Fn(&Row) -> bool| {
        let rows: Vec<Row> = connections().into_iter().filter(ours).collect();
        !rows.is_empty() && rows.iter().all(|(.., kept)| *kept)
    };
    let of_server = |(local, ..): &Row| *local == server;
    eventually("the server's sockets have keep-alive timers", || kept(&of_server));
    let of_client =
        |(local, remote, _): &Row| *remote == server && own.iter().all(|own| own.port() != *local);
    eventually("the client's socket has a keep-alive timer", || kept(&of_client));
}

#[test]
fn a_server_that_never_says_welcome_is_tried_again() {
    let fake = Fake::listen();
    let none = controller("none", &[]);
    let config = ChannelConfig::new(fake.address());
    let client = Client::connect_with(config, &none).expect("a client starts");
    let mut attempts = Vec::new();
    // Two minutes at least, without asking a clock.
    for _ in 0..1_200 {
        let answer = client.call_with(ECHO, "", within(Duration::from_millis(100))).wait();
        assert!(answer.is_err(), "{answer:?}");
        // Kept open: this peer is silent, not gone.
        attempts.extend(fake.try_accept());
        if attempts.len() > 1 {
            return;
        }
    }
    panic!("{} attempt to connect in 1200 calls", attempts.len());
}
