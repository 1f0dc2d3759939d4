//! A fleet whose clients are connected to several replicas: where requests go, and that each ends once.

mod drivers;

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::channel;
use std::time::Duration;
use tailwater_control::catalog::{Controller, Spec};
use tailwater_control::retry::First;
use tailwater_control::{RetryConfig, Site};
use tailwater_core::{Instant, Pause, Stamp};
use tailwater_load::work::ECHO;
use tailwater_load::{Fleet, ThreadClients};
use tailwater_rt::client::{Caller, End, NewCall};
use tailwater_rt::counts::Counts;
use tailwater_rt::time::now;
use tailwater_rt::{Address, Reply, Request, Server, ServerConfig};
use tailwater_wire::{ClientFrame, Grant, Limits, VERSION_MAX, Welcome, decode_from_client};

const PRIMARY: RetryConfig = RetryConfig {
    tries: 2,
    credit_wait: None,
    share: tailwater_core::Ratio(0.1),
    burst: 10,
    first: First::Primary,
};
const COUNTS: u64 = u64::MAX;
/// After this long a test has failed.
const PATIENCE: Duration = Duration::from_secs(60);

fn none() -> Controller {
    Spec::named("none").build(&Site::one_loop(Duration::from_secs(60), 1)).unwrap()
}

fn start() -> Server {
    start_at(ServerConfig::default())
}

fn start_at(config: ServerConfig) -> Server {
    let echo = |request: Request| async { Reply::ok(request.payload) };
    Server::start(config, none().admission, echo).unwrap()
}

fn fleet(servers: &[&Server], retry: RetryConfig) -> Fleet {
    fleet_of(servers, retry, ThreadClients::all(2))
}

fn fleet_of(servers: &[&Server], retry: RetryConfig, whose: ThreadClients) -> Fleet {
    let addresses: Vec<Address> = servers.iter().map(|server| server.address().clone()).collect();
    Fleet::connect_to((&addresses, retry), whose, &none(), &[]).unwrap()
}

fn call(time: Instant) -> NewCall {
    NewCall {
        method: ECHO,
        payload: bytes::Bytes::from_static(b"hello"),
        deadline: Some(time + Duration::from_secs(60)),
        priority: 128,
        tenant: 0,
        caller: Caller::NONE,
    }
}

/// The ends of so many calls, by token; each comes once.
fn ends(fleet: &mut Fleet, count: usize) -> Vec<(u64, usize, End)> {
    let mut found: Vec<(u64, usize, End)> = Vec::new();
    let began = now();
    while found.len() < count {
        assert!(now().since(began) < PATIENCE, "{} of {count} have ended", found.len());
        fleet.turn(Duration::from_millis(10));
        while let Some((client, event)) = fleet.poll_event() {
            found.push((event.token, client, event.end));
        }
    }
    found.sort_by_key(|(token, ..)| *token);
    found
}

fn ask(fleet: &mut Fleet, tokens: std::ops::Range<u64>) -> Vec<(u64, usize, End)> {
    let count = tokens.end - tokens.start;
    for token in tokens {
        let time = now();
        fleet.submit((token % 2) as usize, time, token, call(time));
    }
    ends(fleet, count as usize)
}

/// What each replica has received.
fn received(fleet: &mut Fleet) -> Vec<u64> {
    fleet.ask_for_counts(now(), COUNTS);
    let mut told: Vec<(usize, u64)> = ends(fleet, fleet.servers())
        .into_iter()
        .map(|(_, number, end)| match end {
            End::Response { payload, .. } => {
                (number, Counts::parse(&payload).unwrap().totals.received)
            }
            end => panic!("{end:?}"),
        })
        .collect();
    told.sort_unstable();
    assert!(told.iter().enumerate().all(|(at, (number, _))| *number == 2 + at), "{told:?}");
    told.into_iter().map(|(_, count)| count).collect()
}

fn all_answered(found: &[(u64, usize, End)]) {
    for (token, client, end) in found {
        assert!(matches!(end, End::Response { status: 0, .. }), "{token}: {end:?}");
        assert_eq!(*client, (token % 2) as usize, "the client that asked");
    }
}

#[test]
fn requests_go_to_the_first_replica_and_to_the_next_once_that_is_away() {
    let [first, second] = [start(), start()];
    let mut fleet = fleet(&[&first, &second], PRIMARY);
    assert_eq!((fleet.clients(), fleet.servers()), (2, 2));
    all_answered(&ask(&mut fleet, 0..100));
    assert_eq!(received(&mut fleet), [100, 0]);
    let _ = first.drain(Duration::ZERO);
    let found = ask(&mut fleet, 100..200);
    assert_eq!(found.len(), 100);
    let tokens: Vec<u64> = found.iter().map(|(token, ..)| *token).collect();
    assert!(tokens.iter().copied().eq(100..200), "each ends once: {tokens:?}");
    // What was on its way when the first went may be lost; what came later is not.
    while fleet.connections(now()).up > 3 {
        fleet.turn(Duration::from_millis(10));
    }
    all_answered(&ask(&mut fleet, 200..300));
    assert!(fleet.retried().is_some_and(|told| told.report().over_budget == 0.0));
}

/// Requests that waited at a lost replica stayed there, though another had come back.
#[test]
fn what_waits_at_a_lost_replica_goes_to_the_one_that_comes_back() {
    let path = format!("tailwater-{}-fleet.sock", std::process::id());
    let listen = Address::Unix(std::env::temp_dir().join(path));
    let config = ServerConfig { listen, ..ServerConfig::default() };
    let (first, second) = (start(), start_at(config.clone()));
    let mut fleet = fleet(&[&first, &second], PRIMARY);
    for server in [first, second] {
        let _ = server.drain(Duration::ZERO);
    }
    while fleet.connections(now()).up > 0 {
        fleet.turn(Duration::from_millis(10));
    }
    for token in 0..10 {
        let time = now();
        fleet.submit((token % 2) as usize, time, token, call(time));
    }
    assert_eq!(fleet.unfinished(), 10, "they wait at the first");
    let _second = start_at(config);
    all_answered(&ends(&mut fleet, 10));
}

#[test]
fn clients_are_divided_over_the_replicas_by_their_numbers() {
    let servers = [start(), start()];
    let mut fleet = fleet(&servers.each_ref(), RetryConfig::default());
    all_answered(&ask(&mut fleet, 0..100));
    assert_eq!(received(&mut fleet), [50, 50]);
}

/// As the simulator does, which has one thread: two threads with a client each have one for each replica.
#[test]
fn clients_of_several_threads_are_divided_by_their_numbers_among_all() {
    let servers = [start(), start()];
    for thread in 0..2 {
        let whose = ThreadClients { clients: 1, threads: 2, thread };
        let mut fleet = fleet_of(&servers.each_ref(), RetryConfig::default(), whose);
        for token in 0..10 {
            let time = now();
            fleet.submit(0, time, token, call(time));
        }
        ends(&mut fleet, 10);
    }
    let mut fleet = fleet(&servers.each_ref(), RetryConfig::default());
    assert_eq!(received(&mut fleet), [10, 10]);
}

#[test]
fn one_server_has_no_replicas_to_tell_of() {
    let server = start();
    let mut fleet = fleet(&[&server], RetryConfig::default());
    all_answered(&ask(&mut fleet, 0..10));
    assert!(fleet.retried().is_none());
}

/// Reads HELLO and says WELCOME; gives the client's number.
fn greet(mut stream: TcpStream) -> (u64, TcpStream) {
    let mut input = Vec::new();
    loop {
        let mut some = [0; 64];
        let count = stream.read(&mut some).unwrap();
        assert!(count > 0, "it said {input:?} and hung up");
        input.extend_from_slice(&some[..count]);
        let decoded = decode_from_client(&input, &Limits::default()).unwrap();
        let Some((ClientFrame::Hello(hello), _)) = decoded else { continue };
        let grant = Grant { window: u32::MAX, seq: 0, level: 0, pause: Pause::NONE };
        let welcome = Welcome {
            version: VERSION_MAX,
            features: 0,
            max_frame: Limits::DEFAULT,
            session: 1,
            grant,
            slo_us: 0,
            stamp: Stamp(1),
        };
        let mut output = Vec::new();
        welcome.encode(&mut output);
        stream.write_all(&output).unwrap();
        return (hello.client_id, stream);
    }
}

/// Else the calls of a client to two replicas, which count them alike, would have one name in their traces.
#[test]
fn a_client_has_another_number_at_each_replica() {
    let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let addresses =
        listeners.each_ref().map(|listener| Address::Tcp(listener.local_addr().unwrap()));
    // Each hears of two clients, and of the channel that asks for counts, which has no number.
    let servers = listeners.map(|listener| {
        let (tell, told) = channel();
        std::thread::spawn(move || {
            (0..3).try_for_each(|_| tell.send(greet(listener.accept().unwrap().0)))
        });
        told
    });
    let whose = ThreadClients::all(2);
    let fleet = Fleet::connect_to((&addresses, PRIMARY), whose, &none(), &[]).unwrap();
    let greeted = servers.map(|told| [(); 3].map(|()| told.recv_timeout(PATIENCE).unwrap()));
    let numbers = greeted.each_ref().map(|greeted| {
        let mut numbers = greeted.each_ref().map(|(number, _)| *number);
        numbers.sort_unstable();
        numbers
    });
    assert_eq!(numbers[0], [0, 1, 2]);
    assert!(numbers[1][0] == 0 && numbers[1][1] != numbers[1][2], "{numbers:?}");
    assert!(numbers[1][1..].iter().all(|number| !numbers[0].contains(number)), "{numbers:?}");
    drop(fleet);
}
