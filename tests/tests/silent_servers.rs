//! Servers behind which nothing answers: the kernel accepts, and a process reads nothing, or no more.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;
use tailwater_control::catalog::Controller;
use tailwater_control::retry::{First, RetryConfig};
use tailwater_core::{Instant, MethodId, Pause, Ratio, Stamp};
use tailwater_rt::client::{
    CallError, CallOptions, Caller, Channel, ChannelConfig, Client, End, Losses, NewCall,
};
use tailwater_rt::poll::Poller;
use tailwater_rt::time::now;
use tailwater_rt::{Address, ServerConfig};
use tailwater_tests::{ECHO, Served, controller, eventually};
use tailwater_wire::{Grant, Limits, VERSION_MAX, Welcome};

fn none() -> Controller {
    controller("none", &[])
}

fn silent() -> (TcpListener, Address) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("it is bound");
    (listener, Address::Tcp(address))
}

/// Accepts, greets, and says nothing more.
fn greet(listener: &TcpListener) -> TcpStream {
    let (mut stream, _) = listener.accept().expect("the client connects");
    let mut hello = [0; 36];
    stream.read_exact(&mut hello).expect("HELLO comes first");
    let mut welcome = Vec::new();
    Welcome {
        version: VERSION_MAX,
        features: 0,
        max_frame: Limits::DEFAULT,
        session: 1,
        grant: Grant { window: u32::MAX, seq: 0, level: 0, pause: Pause::NONE },
        slo_us: 0,
        stamp: Stamp(1),
    }
    .encode(&mut welcome);
    stream.write_all(&welcome).expect("the client is there");
    stream
}

/// Calls go to the first while it is well.
fn client_of(first: Address, second: &Served) -> Client {
    let (share, burst) = (Ratio(0.0), 0);
    let retry = RetryConfig { tries: 2, credit_wait: None, share, burst, first: First::Primary };
    let servers = [first, second.address().clone()].map(ChannelConfig::new);
    Client::replicas(servers.into(), &second.controller, retry).expect("a client starts")
}

/// A6: the connection counted as up at the handshake, and each call waited at the silent replica.
#[test]
fn a_replica_that_never_greets_hurts_no_call() {
    let (_listener, address) = silent();
    let served = Served::start(ServerConfig::default(), none());
    let client = client_of(address, &served);
    for number in 0..50_u32 {
        let answer = client.call(ECHO, number.to_le_bytes()).wait();
        assert_eq!(answer.map(|answer| answer.payload), Ok(number.to_le_bytes().to_vec()));
    }
}

/// A6: a replica that had fallen silent was never given up.
#[test]
fn a_replica_that_falls_silent_hurts_the_first_call_only() {
    let (listener, address) = silent();
    let served = Served::start(ServerConfig::default(), none());
    let client = client_of(address, &served);
    let stream = greet(&listener);
    stream.set_nonblocking(true).expect("it is open");
    let soon = CallOptions { deadline: Duration::from_millis(50), ..CallOptions::default() };
    let call = || client.call_with(ECHO, "", soon).wait();
    eventually("a call is lost at the silent replica", || {
        // On a busy machine the other one may be late, too: only what came here was lost here.
        call() == Err(CallError::TimedOut) && stream.peek(&mut [0]).is_ok_and(|bytes| bytes > 0)
    });
    eventually("the other one is well", || call().is_ok());
    for number in 0..50_u32 {
        let answer = client.call(ECHO, number.to_le_bytes()).wait();
        assert_eq!(answer.map(|answer| answer.payload), Ok(number.to_le_bytes().to_vec()));
    }
}

/// A channel and the time that it is told.
struct Driven {
    channel: Channel,
    poller: Poller,
    time: Instant,
}

impl Driven {
    fn new(address: Address) -> Self {
        let config = ChannelConfig::new(address);
        config.check().expect("the defaults are sound");
        let channel = Channel::new(config, 1, none().client(1));
        Self { channel, poller: Poller::new().expect("a poller"), time: now() }
    }

    fn drive(&mut self) {
        self.channel.drive(self.time, &self.poller);
        let mut ready = Vec::new();
        self.poller.wait(Some(Duration::from_millis(1)), &mut ready);
        for readiness in ready {
            self.channel.on_ready(self.time, &self.poller, readiness, &mut [0; 1_024]);
            self.channel.drive(self.time, &self.poller);
        }
    }

    /// Goes on to when it wants to be driven next.
    fn pass(&mut self) {
        let due = self.channel.next_deadline(self.time).expect("it waits for something");
        self.time = self.time.max(due);
        self.drive();
    }

    fn until(&mut self, what: &str, holds: impl Fn(&Channel) -> bool) {
        for _ in 0..20_000 {
            if holds(&self.channel) {
                return;
            }
            self.drive();
        }
        panic!("never so: {what}");
    }

    fn submit(&mut self, token: u64) {
        let (method, deadline) = (MethodId(ECHO), None);
        let payload = Vec::new().into();
        let call =
            NewCall { method, payload, deadline, priority: 128, tenant: 0, caller: Caller::NONE };
        self.channel.submit(self.time, token, call);
    }
}

/// A6: there was one attempt to connect, for ever.
#[test]
fn a_server_that_never_greets_is_tried_again_and_again() {
    let (_listener, address) = silent();
    let mut driven = Driven::new(address);
    for _ in 0..100 {
        driven.pass();
    }
    let Losses { silent, closed, .. } = driven.channel.losses();
    assert!(silent >= 10, "{silent} attempts were given up");
    assert_eq!(closed, 0);
    assert!(!driven.channel.is_up());
}

#[test]
fn a_server_that_falls_silent_is_given_up_and_its_calls_end() {
    let (listener, address) = silent();
    let mut driven = Driven::new(address);
    let stream = std::thread::spawn(move || (greet(&listener), listener));
    driven.until("it is greeted", Channel::is_up);
    driven.submit(7);
    driven.until("the call is sent", |channel| channel.outstanding() == 1);
    while driven.channel.losses() == Losses::default() {
        driven.pass();
    }
    assert_eq!(driven.channel.losses(), Losses { silent: 1, ..Losses::default() });
    let event = driven.channel.poll_event().expect("the call has ended");
    assert_eq!((event.token, event.end), (7, End::Lost));
    assert_eq!((driven.channel.outstanding(), driven.channel.unfinished()), (0, 0));
    drop(stream.join().expect("it has greeted"));
}

#[test]
fn a_server_that_breaks_the_protocol_is_told_and_counted() {
    let (listener, address) = silent();
    let mut driven = Driven::new(address);
    let stream = std::thread::spawn(move || greet(&listener));
    driven.until("it is greeted", Channel::is_up);
    let mut stream = stream.join().expect("it has greeted");
    // A kind of frame that does not exist.
    stream.write_all(&[8, 0, 0, 0, 77, 0, 0, 0]).expect("the client is there");
    driven.until("it is given up", |channel| channel.losses().broken == 1);
    let mut last = Vec::new();
    stream.read_to_end(&mut last).expect("the client closes");
    assert_eq!(last, [8, 0, 0, 0, 9, 0, 4, 0], "GOODBYE malformed");
}
