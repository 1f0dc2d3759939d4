//! Attempts to connect: names are resolved, their addresses tried in turn, and failures say what.

use crate::common::{Port, eventually, found};
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::time::Duration;
use tailwater_control::Site;
use tailwater_control::catalog::Spec;
use tailwater_rt::client::{ChannelConfig, Client};
use tailwater_rt::net::{Dial, Dialed, Dialing, Peer, Stream};
use tailwater_rt::poll::Poller;
use tailwater_rt::{Address, KeepAlive, Reply, Request, Server, ServerConfig};

const KEY: u64 = 7;

fn dial(address: &str, attempt: usize) -> Result<Stream, String> {
    let dialing = Dialing {
        address: address.parse().unwrap(),
        keep_alive: Some(KeepAlive::DEFAULT),
        #[cfg(feature = "tls")]
        tls: None,
    };
    let poller = Poller::new().unwrap();
    let mut ready = Vec::new();
    let mut dial =
        Dial::begin(dialing, attempt, &poller, KEY).map_err(|error| error.to_string())?;
    loop {
        poller.wait(None, &mut ready);
        for readiness in ready.drain(..) {
            assert_eq!(readiness.key, KEY);
            match dial.on_ready(&poller, readiness) {
                Dialed::Pending => {}
                Dialed::Connected(stream) => return Ok(stream),
                Dialed::Failed(error) => return Err(error.to_string()),
            }
        }
    }
}

#[test]
fn a_name_leads_to_whatever_of_its_addresses_listens() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // Where localhost has an address of version 6 too, one of the attempts finds nothing there first.
    for attempt in 0..3 {
        let stream = dial(&format!("localhost:{}", address.port()), attempt).unwrap();
        assert_eq!(stream.peer(), Ok(Peer::Tcp(address)));
        listener.accept().unwrap();
    }
}

#[test]
fn numbers_and_paths_are_connected_to_directly() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    dial(&listener.local_addr().unwrap().to_string(), 0).unwrap();
    let path = std::env::temp_dir().join(format!("tailwater-{}-dial", std::process::id()));
    let _listener = UnixListener::bind(&path).unwrap();
    let dialled = dial(&format!("unix:{}", path.display()), 0);
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(dialled.unwrap().peer(), Ok(Peer::Unix { .. })));
}

#[test]
fn failures_name_the_address_and_what_is_wrong_with_it() {
    let kept = Port::keep();
    let free = kept.address().port();
    for (address, said) in [
        (format!("127.0.0.1:{free}"), format!("cannot connect to 127.0.0.1:{free}: ")),
        (format!("localhost:{free}"), "cannot connect to ".to_owned()),
        ("nothing.invalid:1".into(), "cannot resolve nothing.invalid:1: ".into()),
        ("unix:/nowhere/at/all".into(), "cannot connect to unix:/nowhere/at/all: ".into()),
    ] {
        let message = dial(&address, 0).unwrap_err();
        assert!(message.starts_with(&said) && message.len() > said.len(), "{message}");
    }
}

async fn echo(request: Request) -> Reply {
    Reply::ok(request.payload)
}

#[test]
fn a_server_listens_at_a_name() {
    let start = |address: &str| {
        let controller =
            Spec::named("none").build(&Site::one_loop(Duration::from_secs(1), 0)).unwrap();
        let config = ServerConfig { listen: address.parse().unwrap(), ..ServerConfig::default() };
        Server::start(config, controller.admission.clone(), echo)
    };
    let server = start("localhost:0").unwrap();
    let Address::Tcp(address) = *server.address() else { panic!("a name leads to TCP") };
    assert!(address.ip().is_loopback());
    TcpStream::connect(address).unwrap();
    let message = start("nothing.invalid:0").err().unwrap().to_string();
    assert!(message.contains("cannot listen on nothing.invalid:0"), "{message}");
    assert!(message.contains("cannot be resolved"), "{message}");
}

#[test]
fn a_client_calls_a_server_by_its_name() {
    let controller = Spec::named("none").build(&Site::one_loop(Duration::from_secs(1), 0)).unwrap();
    let server =
        Server::start(ServerConfig::default(), controller.admission.clone(), echo).unwrap();
    let Address::Tcp(address) = *server.address() else { panic!("it listens on TCP") };
    let config = ChannelConfig::new(Address::Name("localhost".into(), address.port()));
    let client = Client::connect_with(config, &controller).unwrap();
    assert_eq!(client.call(1, "hello").wait().unwrap().payload, b"hello");
}

#[test]
fn a_client_tells_why_it_does_not_reach_its_server_until_it_does() {
    let controller = Spec::named("none").build(&Site::one_loop(Duration::from_secs(1), 0)).unwrap();
    let path = std::env::temp_dir().join(format!("tailwater-{}-trouble", std::process::id()));
    let address = Address::Unix(path);
    let client = Client::connect(address.clone()).unwrap();
    let said = found("the trouble is told", || client.trouble());
    assert!(said.starts_with(&format!("cannot connect to {address}: ")), "{said}");
    let config = ServerConfig { listen: address.clone(), ..ServerConfig::default() };
    let server = Server::start(config, controller.admission.clone(), echo).unwrap();
    eventually("the trouble is over", || client.trouble().is_none());
    drop(server);
    let said = found("the server's end is told", || client.trouble());
    assert!(said.contains(&address.to_string()), "{said}");
}

#[test]
fn a_client_tells_that_nothing_listens_at_a_port_or_something_else_does() {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::Tcp(socket.local_addr().unwrap());
    let client = Client::connect(address.clone()).unwrap();
    let (mut stranger, _) = socket.accept().unwrap();
    stranger.write_all(&[b'?'; 64]).unwrap();
    let said = found("the stranger is told of", || client.trouble());
    assert_eq!(said, format!("{address}: what answers there does not speak tailwater's protocol"));
    drop((stranger, socket));
    let refused = format!("cannot connect to {address}: ");
    eventually("the refusal is told", || {
        client.trouble().is_some_and(|said| said.starts_with(&refused))
    });
}
