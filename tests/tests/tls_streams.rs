//! TLS over raw streams: who is believed, what is refused, and that nothing stalls or is lost.

use crate::tls;
use crate::tls::Authority;
use rustls::pki_types::pem::PemObject as _;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;
use tailwater_rt::Address;
use tailwater_rt::net::tls::{Clients, Identity, PROTOCOL, Roots, TlsClient, TlsServer};
use tailwater_rt::net::{Dial, Dialed, Dialing, Peer, Stream, Transfer};
use tailwater_rt::poll::{Interest, Poller};

/// One end, and what it has to say and has heard.
struct End {
    stream: Stream,
    /// Room for one read.
    buffer: usize,
    unsent: Vec<u8>,
    heard: Vec<u8>,
    closed: bool,
}

impl End {
    fn new(stream: Stream, unsent: Vec<u8>) -> Self {
        Self { stream, buffer: 64 << 10, unsent, heard: Vec::new(), closed: false }
    }

    /// What the owner of a stream does when something can be done.
    fn turn(&mut self) {
        self.closed |= self.stream.push() == Transfer::Closed;
        loop {
            let mut buffer = vec![0; self.buffer];
            match self.stream.read(&mut buffer) {
                Transfer::Bytes(count) => self.heard.extend_from_slice(&buffer[..count]),
                Transfer::WouldBlock => {}
                Transfer::Closed => self.closed = true,
            }
            if !self.stream.has_unread() {
                break;
            }
        }
        while !self.unsent.is_empty() && !self.closed {
            match self.stream.write(&self.unsent) {
                Transfer::Bytes(count) => drop(self.unsent.drain(..count)),
                Transfer::WouldBlock => break,
                Transfer::Closed => self.closed = true,
            }
        }
    }

    fn interest(&self) -> Interest {
        if self.closed {
            return Interest::default();
        }
        let wanted = Interest { readable: true, writable: !self.unsent.is_empty() };
        self.stream.interest(wanted)
    }

    fn failure(&self) -> String {
        self.stream.tls_failure().unwrap_or_default()
    }

    fn certificate_names(&self) -> Option<(Vec<String>, Vec<String>)> {
        let Ok(Peer::Tls { certificate, .. }) = self.stream.peer() else { panic!("it speaks TLS") };
        certificate.map(|shown| (shown.dns_names().to_vec(), shown.uris().to_vec()))
    }
}

/// Turns both ends as a level-triggered poller says, until `done`.
fn run(client: &mut End, server: &mut End, done: impl Fn(&End, &End) -> bool) {
    let poller = Poller::new().unwrap();
    let mut ready = Vec::new();
    poller.add(&client.stream, 0, client.interest()).unwrap();
    poller.add(&server.stream, 1, server.interest()).unwrap();
    for turn in 0.. {
        if done(client, server) {
            return;
        }
        assert!(turn < 1_000_000, "the ends are kept awake for nothing");
        // A minute without anything to do is a wake-up that was lost.
        poller.wait(Some(Duration::from_secs(60)), &mut ready);
        assert!(!ready.is_empty(), "stalled: {} {}", client.failure(), server.failure());
        for readiness in ready.drain(..) {
            let end = if readiness.key == 0 { &mut *client } else { &mut *server };
            end.turn();
            poller.modify(&end.stream, readiness.key, end.interest()).unwrap();
            if end.closed {
                // Nothing is left to be told of it; a hang-up would be told for ever.
                poller.remove(&end.stream).unwrap();
            }
        }
    }
}

fn stream(socket: UnixStream) -> Stream {
    Stream::try_from(OwnedFd::from(socket)).unwrap()
}

fn nowhere() -> Address {
    "unix:/nowhere".parse().unwrap()
}

fn ends(client: &TlsClient, server: &TlsServer, texts: (Vec<u8>, Vec<u8>)) -> (End, End) {
    let (one, other) = UnixStream::pair().unwrap();
    for socket in [&one, &other] {
        // The least that the kernel allows.
        rustix::net::sockopt::set_socket_send_buffer_size(socket, 1).unwrap();
    }
    let client = stream(one).secure_as_client(client, &nowhere()).unwrap();
    let server = stream(other).secure_as_server(server).unwrap();
    (End::new(client, texts.0), End::new(server, texts.1))
}

fn all_heard(client: &End, server: &End) -> bool {
    client.heard == b"pong" && server.heard == b"ping"
}

fn ping() -> (Vec<u8>, Vec<u8>) {
    (b"ping".to_vec(), b"pong".to_vec())
}

#[test]
fn both_ends_show_certificates_and_know_each_other_by_them() {
    let authority = Authority::new();
    let us = authority.issue_with_uri("billing.internal", "spiffe://example.org/billing");
    let server = authority.server(Clients::Required(authority.roots()));
    let client = authority.client(Some(us.identity()));
    let (mut client, mut server) = ends(&client, &server, ping());
    run(&mut client, &mut server, all_heard);
    assert!(!client.stream.is_handshaking() && !server.stream.is_handshaking());
    assert_eq!(client.certificate_names(), Some((vec!["localhost".into()], vec![])));
    let billing = (vec!["billing.internal".into()], vec!["spiffe://example.org/billing".into()]);
    assert_eq!(server.certificate_names(), Some(billing));
}

#[test]
fn a_client_without_a_certificate_is_let_in_where_that_is_optional() {
    let authority = Authority::new();
    for clients in [Clients::Anonymous, Clients::Optional(authority.roots())] {
        let (mut client, mut server) =
            ends(&authority.client(None), &authority.server(clients), ping());
        run(&mut client, &mut server, all_heard);
        assert_eq!(server.certificate_names(), None);
    }
}

#[test]
fn of_a_client_without_the_certificate_that_is_required_nothing_is_heard() {
    let authority = Authority::new();
    let stranger = Authority::new().issue("localhost").identity();
    for identity in [None, Some(stranger)] {
        let server = authority.server(Clients::Required(authority.roots()));
        let (mut client, mut server) = ends(&authority.client(identity), &server, ping());
        run(&mut client, &mut server, |client, server| client.closed && server.closed);
        assert!(server.heard.is_empty() && client.heard.is_empty());
        assert_eq!(server.certificate_names(), None);
        assert!(!server.failure().is_empty() && !client.failure().is_empty());
    }
}

fn refused_by_client(client: &TlsClient, server: &TlsServer) -> String {
    let (mut client, mut server) = ends(client, server, ping());
    run(&mut client, &mut server, |client, server| client.closed && server.closed);
    assert!(server.heard.is_empty() && client.heard.is_empty());
    client.failure()
}

#[test]
fn a_server_of_another_authority_with_another_name_or_expired_is_refused() {
    let authority = Authority::new();
    let client = authority.client(None);
    let stranger = Authority::new().server(Clients::Anonymous);
    let failure = refused_by_client(&client, &stranger);
    assert!(failure.contains("invalid peer certificate"), "{failure}");
    let of = |issued: tls::Issued| TlsServer::new(issued.identity(), Clients::Anonymous).unwrap();
    let failure = refused_by_client(&client, &of(authority.issue("elsewhere")));
    assert!(failure.contains("not valid for name"), "{failure}");
    let failure = refused_by_client(&client, &of(authority.issue_expired("localhost")));
    assert!(failure.contains("expired"), "{failure}");
}

/// A client of another protocol, or of none.
fn foreign_client(authority: &Authority, protocols: &[&[u8]]) -> rustls::ClientConnection {
    let mut roots = rustls::RootCertStore::empty();
    let pem = authority.pem();
    roots.add(rustls::pki_types::CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    rustls::ClientConnection::new(Arc::new(config), "localhost".try_into().unwrap()).unwrap()
}

#[test]
fn a_client_that_does_not_name_our_protocol_is_refused() {
    let authority = Authority::new();
    for protocols in [&[b"h2".as_slice()][..], &[]] {
        let (one, other) = UnixStream::pair().unwrap();
        let server = stream(other).secure_as_server(&authority.server(Clients::Anonymous)).unwrap();
        let client = foreign_client(&authority, protocols);
        let thread = std::thread::spawn(move || {
            let mut client = rustls::StreamOwned::new(client, one);
            // The first fails where the handshake does, the second where it is found out afterwards.
            client.write_all(b"ping").and_then(|()| client.read_exact(&mut [0])).unwrap_err()
        });
        let poller = Poller::new().unwrap();
        let mut server = End::new(server, Vec::new());
        poller.add(&server.stream, 0, server.interest()).unwrap();
        let mut ready = Vec::new();
        while !server.closed {
            poller.wait(None, &mut ready);
            server.turn();
            poller.modify(&server.stream, 0, server.interest()).unwrap();
        }
        assert!(server.heard.is_empty());
        assert!(server.failure().to_lowercase().contains("protocol"), "{}", server.failure());
        drop(server);
        thread.join().unwrap();
    }
}

/// A record of a byte takes as long to open as a longer one, and fills no buffer.
#[test]
fn one_read_takes_its_share_of_a_flood_of_small_records_and_leaves_the_rest_to_the_next() {
    const RECORDS: usize = 4_096;
    let authority = Authority::new();
    let (one, other) = UnixStream::pair().unwrap();
    one.set_nonblocking(true).unwrap();
    // All of the flood is there before the first read.
    rustix::net::sockopt::set_socket_send_buffer_size(&one, 1 << 18).unwrap();
    let server = stream(other).secure_as_server(&authority.server(Clients::Anonymous)).unwrap();
    let mut client = foreign_client(&authority, &[PROTOCOL]);
    client.set_buffer_limit(None);
    while client.is_handshaking() || server.is_handshaking() {
        while client.wants_write() {
            client.write_tls(&mut &one).unwrap();
        }
        assert_eq!(server.read(&mut [0; 64]), Transfer::WouldBlock, "{:?}", server.tls_failure());
        if client.wants_read() && client.read_tls(&mut &one).is_ok() {
            client.process_new_packets().unwrap();
        }
    }
    for _ in 0..RECORDS {
        client.writer().write_all(b"x").unwrap();
    }
    let mut flood = Vec::new();
    while client.wants_write() {
        client.write_tls(&mut flood).unwrap();
    }
    (&one).write_all(&flood).unwrap();
    let in_socket = || rustix::io::ioctl_fionread(&server).unwrap();
    let before = in_socket();
    assert_eq!(before, flood.len() as u64);
    let mut buffer = vec![0; 64 << 10];
    let Transfer::Bytes(mut heard) = server.read(&mut buffer) else { panic!("a flood is there") };
    // Sixteen reads of 4 KiB, each with the rest of a record at most.
    let taken = before - in_socket();
    assert!(taken <= 17 * 4_096, "one read took {taken} bytes of {before}");
    assert!(!server.has_unread(), "the poller tells of the rest: it is in the socket");
    while heard < RECORDS {
        match server.read(&mut buffer) {
            Transfer::Bytes(count) => heard += count,
            ended => panic!("{ended:?} after {heard} of {RECORDS} records"),
        }
    }
    assert_eq!((heard, in_socket()), (RECORDS, 0));
}

/// Pseudo-random, so that no repetition hides a loss.
fn noise(length: usize, seed: u32) -> Vec<u8> {
    let mut state = seed;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..length).map(next).collect()
}

#[test]
fn large_payloads_pass_in_both_directions_through_small_sockets_and_small_buffers() {
    let authority = Authority::new();
    for buffer in [1 << 16, 1 << 15, 20_000, 1_000, 7] {
        let length = if buffer < 100 { 50_000 } else { 2 << 20 };
        let texts = (noise(length, 1), noise(length, 2));
        let (client, server) = (authority.client(None), authority.server(Clients::Anonymous));
        let (mut client, mut server) = ends(&client, &server, texts);
        (client.buffer, server.buffer) = (buffer, buffer);
        run(&mut client, &mut server, |client, server| {
            client.heard.len() >= length && server.heard.len() >= length
        });
        assert!(client.heard == noise(length, 2) && server.heard == noise(length, 1));
    }
}

#[test]
fn with_room_for_two_records_nothing_remains_that_the_poller_does_not_tell_of() {
    let authority = Authority::new();
    let (client, server) = (authority.client(None), authority.server(Clients::Anonymous));
    let (mut client, server) = ends(&client, &server, (noise(1 << 20, 3), Vec::new()));
    let mut buffer = vec![0; 32 << 10];
    let mut heard = 0;
    while heard < 1 << 20 {
        client.turn();
        let _ = server.stream.push();
        if let Transfer::Bytes(count) = server.stream.read(&mut buffer) {
            heard += count;
        }
        assert!(!server.stream.has_unread());
    }
}

#[test]
fn bytes_that_come_one_at_a_time_make_a_session() {
    let authority = Authority::new();
    let (one, near) = UnixStream::pair().unwrap();
    let (far, other) = UnixStream::pair().unwrap();
    let client = stream(one).secure_as_client(&authority.client(None), &nowhere()).unwrap();
    let server = stream(other).secure_as_server(&authority.server(Clients::Anonymous)).unwrap();
    let (mut client, mut server) =
        (End::new(client, b"ping".to_vec()), End::new(server, b"pong".to_vec()));
    for relay in [&near, &far] {
        relay.set_nonblocking(true).unwrap();
    }
    while !all_heard(&client, &server) {
        assert!(!client.closed && !server.closed, "{} {}", client.failure(), server.failure());
        client.turn();
        server.turn();
        for (mut from, mut to) in [(&near, &far), (&far, &near)] {
            let mut byte = [0];
            if from.read(&mut byte).is_ok_and(|count| count == 1) {
                to.write_all(&byte).unwrap();
            }
        }
    }
}

#[test]
fn a_handshake_that_stops_in_its_middle_is_waited_for_without_spinning() {
    let authority = Authority::new();
    let (one, mut near) = UnixStream::pair().unwrap();
    let (mut far, other) = UnixStream::pair().unwrap();
    let client = stream(one).secure_as_client(&authority.client(None), &nowhere()).unwrap();
    let server = stream(other).secure_as_server(&authority.server(Clients::Anonymous)).unwrap();
    let (mut client, mut server) =
        (End::new(client, b"ping".to_vec()), End::new(server, b"pong".to_vec()));
    assert!(client.interest().writable, "its greeting is to be sent");
    client.turn();
    assert_eq!(client.interest(), Interest::READ, "the greeting is sent, an answer is needed");
    let mut greeting = vec![0; 4_096];
    let length = near.read(&mut greeting).unwrap();
    assert_eq!(server.interest(), Interest::READ, "a server waits for a greeting");
    far.write_all(&greeting[..length / 2]).unwrap();
    server.turn();
    assert!(server.stream.is_handshaking() && !server.closed);
    assert_eq!(server.interest(), Interest::READ);
    assert_eq!(server.unsent, b"pong", "nothing is taken for a stranger");
    assert!(matches!(server.stream.peer(), Ok(Peer::Tls { certificate: None, .. })));
}

#[test]
fn a_stream_that_is_cut_is_closed_and_said_to_be_cut() {
    let authority = Authority::new();
    for orderly in [true, false] {
        let (client, server) = (authority.client(None), authority.server(Clients::Anonymous));
        let (mut client, mut server) = ends(&client, &server, ping());
        run(&mut client, &mut server, all_heard);
        if orderly {
            client.stream.finish_writing();
        } else {
            drop(client);
        }
        while !server.closed {
            server.turn();
        }
        assert_eq!(server.failure().is_empty(), orderly, "{}", server.failure());
    }
}

#[test]
fn plaintext_at_a_port_for_tls_is_refused() {
    let authority = Authority::new();
    let (mut one, other) = UnixStream::pair().unwrap();
    let server = stream(other).secure_as_server(&authority.server(Clients::Anonymous)).unwrap();
    one.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut server = End::new(server, Vec::new());
    server.turn();
    assert!(server.closed && server.heard.is_empty() && !server.failure().is_empty());
}

#[test]
fn what_is_no_certificate_is_named() {
    let message = Roots::from_pem(b"nothing").unwrap_err().to_string();
    assert!(message.contains("no certificate was found"), "{message}");
    let issued = Authority::new().issue("localhost");
    let message = Identity::from_pem(issued.chain.as_bytes(), b"nothing").unwrap_err().to_string();
    assert!(message.contains("private key cannot be read"), "{message}");
    let other = Authority::new().issue("localhost").key;
    let identity = Identity::from_pem(issued.chain.as_bytes(), other.as_bytes()).unwrap();
    let message = TlsServer::new(identity, Clients::Anonymous).unwrap_err().to_string();
    assert!(message.contains("cannot be used"), "{message}");
    let authority = Authority::new();
    let client = TlsClient::new(authority.roots(), None).unwrap();
    let (one, _other) = UnixStream::pair().unwrap();
    let message = stream(one).secure_as_client(&client, &nowhere()).unwrap_err().to_string();
    assert!(message.contains("with_server_name"), "{message}");
}

/// Dials a name where a server with this certificate listens; what the server has made of it, too.
fn dial(client: TlsClient, server: &TlsServer) -> (Result<Stream, String>, Stream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::Name("localhost".into(), listener.local_addr().unwrap().port());
    let dialing = Dialing { address, keep_alive: None, tls: Some(client) };
    let poller = Poller::new().unwrap();
    let mut dial = Dial::begin(dialing, 0, &poller, 0).unwrap();
    let mut ready = Vec::new();
    let mut accepted: Option<Stream> = None;
    listener.set_nonblocking(true).unwrap();
    loop {
        match (&accepted, listener.accept()) {
            (None, Ok((socket, _))) => {
                let stream = Stream::try_from(OwnedFd::from(socket)).unwrap();
                accepted = Some(stream.secure_as_server(server).unwrap());
            }
            (Some(stream), _) => {
                // It speaks as soon as it may, right behind the handshake.
                let _ = stream.read(&mut [0; 64]);
                let _ = stream.write(b"first");
            }
            (None, Err(_)) => {}
        }
        poller.wait(Some(Duration::from_millis(1)), &mut ready);
        for readiness in ready.drain(..) {
            let outcome = match dial.on_ready(&poller, readiness) {
                Dialed::Pending => continue,
                Dialed::Connected(stream) => Ok(stream),
                Dialed::Failed(error) => Err(error.to_string()),
            };
            return (outcome, accepted.take().unwrap());
        }
    }
}

#[test]
fn who_dials_a_name_gets_a_stream_to_the_server_of_that_name() {
    let authority = Authority::new();
    let client = TlsClient::new(authority.roots(), None).unwrap();
    let (client, server) = dial(client, &authority.server(Clients::Anonymous));
    let (mut client, mut server) =
        (End::new(client.unwrap(), Vec::new()), End::new(server, b"first".to_vec()));
    run(&mut client, &mut server, |client, _| client.heard.starts_with(b"first"));
    let Ok(Peer::Tls { socket, .. }) = server.stream.peer() else { panic!("it speaks TLS") };
    assert!(matches!(*socket, Peer::Tcp(_)));
    let stranger = TlsClient::new(Authority::new().roots(), None).unwrap();
    let (client, _server) = dial(stranger, &authority.server(Clients::Anonymous));
    let message = client.unwrap_err();
    assert!(message.starts_with("TLS with localhost:"), "{message}");
    assert!(message.contains("invalid peer certificate"), "{message}");
}
