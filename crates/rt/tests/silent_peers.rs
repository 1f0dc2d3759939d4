//! Connections whose peer's host is gone: the kernel watches over them at both ends.

use crate::common::eventually;
use std::fs::read_to_string;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use tailwater_control::Site;
use tailwater_control::catalog::Spec;
use tailwater_rt::client::{ChannelConfig, Client};
use tailwater_rt::{Address, Reply, Request, Server, ServerConfig};

async fn echo(request: Request) -> Reply {
    Reply::ok(request.payload)
}

fn start() -> (Server, SocketAddr) {
    let controller = Spec::named("none").build(&Site::one_loop(Duration::from_secs(1), 0)).unwrap();
    let server =
        Server::start(ServerConfig::default(), controller.admission.clone(), echo).unwrap();
    let Address::Tcp(address) = *server.address() else { panic!("it listens on TCP") };
    (server, address)
}

/// A connection in the kernel's table.
struct Row {
    local: u16,
    remote: u16,
    /// 2: the keepalive timer runs.
    timer: u8,
}

/// As `proc_net_tcp(5)` has it: number, local and remote address, state, queues, timer.
fn row(line: &str) -> Option<Row> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let port = |field: &str| u16::from_str_radix(field.split_once(':')?.1, 16).ok();
    let timer = u8::from_str_radix(fields.get(5)?.split_once(':')?.0, 16).ok()?;
    Some(Row { local: port(fields[1])?, remote: port(fields[2])?, timer })
}

/// Looks at the kernel's table until it has such a row.
fn has_row(what: &str, is_it: impl Fn(&Row) -> bool) {
    eventually(what, || {
        let table = read_to_string("/proc/self/net/tcp").unwrap();
        table.lines().skip(1).filter_map(row).any(|row| is_it(&row))
    });
}

#[test]
fn the_kernel_watches_over_a_silent_client() {
    let (_server, address) = start();
    let client = TcpStream::connect(address).unwrap();
    let port = client.local_addr().unwrap().port();
    has_row("the server's end has a keepalive timer", |row| {
        row.local == address.port() && row.remote == port && row.timer == 2
    });
}

#[test]
fn the_kernel_watches_over_a_silent_server() {
    let (server, address) = start();
    let controller = Spec::named("none").build(&Site::one_loop(Duration::from_secs(1), 0)).unwrap();
    let config = ChannelConfig::new(server.address().clone());
    let client = Client::connect_with(config, &controller).unwrap();
    client.call(1, "hello").wait().unwrap();
    has_row("the client's end has a keepalive timer", |row| {
        row.remote == address.port() && row.timer == 2
    });
}
