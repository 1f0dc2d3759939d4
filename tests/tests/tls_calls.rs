//! Calls over TLS: between our servers and clients, with certificates on both sides.

use crate::tls::Authority;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;
use tailwater_control::catalog::Controller;
use tailwater_rt::client::{CallError, CallOptions, ChannelConfig, Client};
use tailwater_rt::net::Peer;
use tailwater_rt::net::tls::{Clients, TlsClient};
use tailwater_rt::{Address, Reply, Request, Router, Server, ServerConfig, Tenants};
use tailwater_tests::{controller, eventually};

const ECHO: u16 = 1;
const WHO: u16 = 2;

/// A busy machine makes neither the server shed nor a call expire at its client.
fn control() -> Controller {
    controller("breakwater", &[("expiry", "never")])
}

fn names(peer: &Peer) -> Vec<String> {
    match peer {
        Peer::Tls { certificate: Some(shown), .. } => shown.dns_names().to_vec(),
        _ => Vec::new(),
    }
}

/// Answers with the tenant and the names in the caller's certificate.
async fn who(request: Request) -> Reply {
    let peer = request.peer.get().expect("the kernel knows it");
    Reply::ok(format!("{} {:?}", request.tenant, names(&peer)).into_bytes())
}

fn start(config: ServerConfig) -> Server {
    let router = Router::new()
        .route(ECHO, |request: Request| async move { Reply::ok(request.payload) })
        .route(WHO, who);
    Server::start(config, control().admission.clone(), router).unwrap()
}

fn connect(address: Address, tls: Option<TlsClient>) -> Client {
    let config = ChannelConfig { tls, ..ChannelConfig::new(address) };
    Client::connect_with(config, &control()).unwrap()
}

/// By its name, so that the certificate for `localhost` fits.
fn by_name(server: &Server) -> Address {
    let Address::Tcp(address) = server.address() else { panic!("it listens on TCP") };
    Address::Name("localhost".into(), address.port())
}

fn payload(number: u32) -> Vec<u8> {
    let length = [0, 1, 100, 16_384, 16_385, 200_000, 900_000][number as usize % 7];
    (0..length).map(|index: u32| (index.wrapping_mul(number + 7) >> 5) as u8).collect()
}

#[test]
fn calls_of_all_sizes_pass_and_handlers_know_who_calls() {
    let authority = Authority::new();
    let tenants = Tenants::new(|peer| u32::from(names(peer) == ["billing"]) * 7);
    let server = start(ServerConfig {
        tls: Some(authority.server(Clients::Required(authority.roots()))),
        tenants: Some(tenants),
        ..ServerConfig::default()
    });
    let us = TlsClient::new(authority.roots(), Some(authority.issue("billing").identity()));
    let client = connect(by_name(&server), Some(us.unwrap()));
    let patient = CallOptions { deadline: Duration::from_secs(120), ..CallOptions::default() };
    let call = |number| client.call_with(ECHO, payload(number), patient);
    let calls: Vec<_> = (0..70).map(call).collect();
    for (number, call) in (0..70).zip(calls) {
        assert!(call.wait().unwrap().payload == payload(number), "call {number}");
    }
    assert_eq!(client.call(WHO, "").wait().unwrap().payload, b"7 [\"billing\"]");
}

#[test]
fn without_tls_the_kernel_tells_who_calls() {
    let path = std::env::temp_dir().join(format!("tailwater-{}-who", std::process::id()));
    let ours = rustix::process::geteuid().as_raw();
    let tenants = Tenants::new(move |peer| match peer {
        Peer::Unix { uid, .. } if *uid == ours => 9,
        _ => 0,
    });
    let listen = Address::Unix(path);
    let server = start(ServerConfig { listen, tenants: Some(tenants), ..ServerConfig::default() });
    let client = connect(server.address().clone(), None);
    assert_eq!(client.call(WHO, "").wait().unwrap().payload, b"9 []");
}

fn is_refused(client: &Client) {
    let options = CallOptions { deadline: Duration::from_millis(300), ..CallOptions::default() };
    let error = client.call_with(ECHO, "secret", options).wait().unwrap_err();
    let unanswered = [CallError::TimedOut, CallError::Expired, CallError::Disconnected];
    assert!(unanswered.contains(&error), "{error}");
}

#[test]
fn no_request_of_a_client_without_the_needed_certificate_is_served() {
    let authority = Authority::new();
    let server = start(ServerConfig {
        tls: Some(authority.server(Clients::Required(authority.roots()))),
        ..ServerConfig::default()
    });
    is_refused(&connect(by_name(&server), Some(authority.client(None))));
    let stranger = Authority::new().issue("billing").identity();
    is_refused(&connect(by_name(&server), Some(authority.client(Some(stranger)))));
    is_refused(&connect(by_name(&server), None));
    assert_eq!(server.totals().served, 0);
}

#[test]
fn a_handshake_that_stalls_ends_with_patience() {
    let authority = Authority::new();
    let server = start(ServerConfig {
        tls: Some(authority.server(Clients::Anonymous)),
        patience: Duration::from_millis(100),
        ..ServerConfig::default()
    });
    let Address::Tcp(address) = *server.address() else { panic!("it listens on TCP") };
    let mut socket = TcpStream::connect(address).unwrap();
    // The beginning of a record of 512 bytes with a handshake in it.
    socket.write_all(&[22, 3, 1, 2, 0, 1]).unwrap();
    // Far beyond any patience.
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let ended = socket.read_to_end(&mut Vec::new());
    assert!(ended.map_err(|error| error.kind()) != Err(ErrorKind::WouldBlock), "it was kept");
}

#[test]
fn a_unix_socket_speaks_tls_under_a_name_that_is_given() {
    let authority = Authority::new();
    let path = std::env::temp_dir().join(format!("tailwater-{}-tls", std::process::id()));
    let server = start(ServerConfig {
        listen: Address::Unix(path.clone()),
        tls: Some(authority.server(Clients::Anonymous)),
        ..ServerConfig::default()
    });
    let client = connect(server.address().clone(), Some(authority.client(None)));
    assert_eq!(client.call(ECHO, "echo").wait().unwrap().payload, b"echo");
    drop((client, server));
    UnixStream::connect(path).unwrap_err();
    let nameless = TlsClient::new(authority.roots(), None).unwrap();
    let config = ChannelConfig {
        tls: Some(nameless),
        ..ChannelConfig::new("unix:/run/my.sock".parse().unwrap())
    };
    let error = Client::connect_with(config, &control()).err().unwrap();
    assert!(error.to_string().contains("with_server_name"), "{error}");
}

/// Waits until a client says this of its connection. A reset may swallow what the server says of one attempt.
fn tells(client: &Client, begins: &str, word: &str) {
    let fits = |said: &String| said.starts_with(begins) && said.to_lowercase().contains(word);
    eventually(&format!("{begins}…{word} is told"), || {
        client.trouble().as_ref().is_some_and(fits)
    });
}

#[test]
fn a_client_tells_which_end_did_not_believe_the_other() {
    let authority = Authority::new();
    let server = start(ServerConfig {
        tls: Some(authority.server(Clients::Required(authority.roots()))),
        ..ServerConfig::default()
    });
    let address = by_name(&server);
    let begins = format!("TLS with {address} failed: ");
    let strange = connect(address.clone(), Some(Authority::new().client(None)));
    tells(&strange, &begins, "certificate");
    // By the server's answer to it this end has shaken hands.
    let nameless = connect(address, Some(authority.client(None)));
    tells(&nameless, &begins, "certificate");
}
