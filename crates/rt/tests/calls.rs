//! Server and client together, over real sockets.

use crate::common::{boxed, eventually};
use std::future::Future as _;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use tailwater_control::Site;
use tailwater_control::catalog::{Controller, Spec};
use tailwater_rt::client::{CallError, ChannelConfig, Client, Fault};
use tailwater_rt::{
    Address, Drained, Model, Placement, Reception, Reply, Request, Router, Server, ServerConfig,
    Service,
};

const ECHO: u16 = 1;

async fn echo(request: Request) -> Reply {
    Reply::ok(request.payload)
}

async fn panics(_: Request) -> Reply {
    panic!("a test wants this panic")
}

/// A busy machine makes neither the server shed nor a call expire at its client.
fn controller(name: &str) -> Controller {
    let mut spec = Spec::named(name);
    spec.overrides = [("expiry".to_owned(), "never".to_owned())].into();
    spec.build(&Site::of_loops(Duration::from_secs(60), 2, 1)).unwrap()
}

fn start<S: Service>(config: ServerConfig, name: &str, service: S) -> (Server, Client) {
    start_typed(config, name, boxed(service))
}

/// The server itself makes replies of what the handler returns.
fn start_typed<S: Service>(config: ServerConfig, name: &str, service: S) -> (Server, Client) {
    let controller = controller(name);
    let server = Server::start(config, controller.admission.clone(), service).unwrap();
    let config = ChannelConfig::new(server.address().clone());
    let client = Client::connect_with(config, &controller).unwrap();
    (server, client)
}

fn echoes(client: &Client, count: u32) {
    let calls: Vec<_> =
        (0..count).map(|number| client.call(ECHO, number.to_le_bytes().to_vec())).collect();
    for (number, call) in (0..count).zip(calls) {
        assert_eq!(call.wait().unwrap().payload, number.to_le_bytes());
    }
}

fn unix_path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("tailwater-{}-{name}.sock", std::process::id()))
}

#[test]
fn every_reception_and_placement_serves_over_both_transports() {
    let receptions =
        [Reception::Block, Reception::SpinThenBlock(Duration::from_micros(50)), Reception::Poll];
    for (number, reception) in receptions.into_iter().enumerate() {
        for placement in [Placement::Inline, Placement::Workers(2)] {
            let unix = Address::Unix(unix_path(&format!("{number}-{placement}")));
            for listen in [ServerConfig::default().listen, unix] {
                let config = ServerConfig {
                    listen,
                    model: Model { reception, placement, ..Model::default() },
                    loops: 2,
                    ..ServerConfig::default()
                };
                let (server, client) = start(config, "none", echo);
                echoes(&client, 100);
                eventually("all are counted", || server.totals().served == 100);
            }
        }
    }
}

#[test]
fn calls_without_credit_wait_and_are_all_served() {
    let (server, client) = start(ServerConfig::default(), "breakwater", echo);
    echoes(&client, 100);
    eventually("all are counted", || server.totals().served == 100);
    assert_eq!(server.totals().shed_total(), 0);
    assert_eq!(server.gauges().sessions, 1);
}

#[test]
fn a_waiting_handler_holds_neither_loop_nor_worker() {
    for placement in [Placement::Inline, Placement::Workers(1)] {
        let config = ServerConfig { model: placement.into(), ..ServerConfig::default() };
        let gate = Arc::new(AtomicU32::new(0));
        let seen = gate.clone();
        // Each of the first hundred calls waits until all hundred are inside.
        let (_server, client) = start(config, "none", move |request: Request| {
            let gate = seen.clone();
            async move {
                gate.fetch_add(1, Ordering::SeqCst);
                while gate.load(Ordering::SeqCst) < 100 {
                    tailwater_rt::time::sleep(Duration::from_micros(100)).await;
                }
                Reply::ok(request.payload)
            }
        });
        echoes(&client, 100);
    }
}

#[test]
fn a_handler_may_call_another_server() {
    let (back_server, back) = start(ServerConfig::default(), "none", echo);
    let (_front_server, front) = start(ServerConfig::default(), "none", move |request: Request| {
        let back = back.clone();
        async move {
            match back.call(ECHO, request.payload).await {
                Ok(answer) => Reply::ok(answer.payload),
                Err(error) => Reply::failure(1, &error.to_string()),
            }
        }
    });
    echoes(&front, 50);
    eventually("all are counted", || back_server.totals().served == 50);
}

#[test]
fn statuses_panics_and_refusals_reach_the_caller() {
    let router = Router::new()
        .route(1, |_: Request| async { Reply::failure(7, "no such key") })
        .route(2, panics)
        .route(3, |_: Request| async { Reply::Shed(tailwater_control::Reason::Lock) })
        .route(4, |_: Request| async { Reply::ok(vec![0; 2 << 20]) });
    let (server, client) = start(ServerConfig::default(), "none", router);
    let status_of = |method| client.call(method, "").wait().map(|answer| answer.status);
    assert_eq!(status_of(1), Ok(7));
    assert_eq!(status_of(2), Err(CallError::Runtime(Fault::Panicked)));
    assert_eq!(status_of(3), Err(CallError::Shed(tailwater_control::Reason::Lock)));
    assert_eq!(status_of(4), Err(CallError::Runtime(Fault::AnswerTooLong)));
    assert_eq!(status_of(9), Err(CallError::Runtime(Fault::UnknownMethod)));
    assert_eq!(status_of(1), Ok(7), "the connection has survived all of it");
    assert_eq!(server.totals().accepted, 1);
}

/// Becomes a reply only if it may.
struct Odd(bool);

impl From<Odd> for Reply {
    fn from(odd: Odd) -> Self {
        assert!(odd.0, "a test wants this panic");
        Self::ok(Vec::new())
    }
}

#[test]
fn a_panic_while_an_answer_becomes_a_reply_ends_one_request_only() {
    for placement in [Placement::Inline, Placement::Workers(1)] {
        let config = ServerConfig { model: placement.into(), ..ServerConfig::default() };
        let service = |request: Request| async move { Odd(request.method.0 == 1) };
        let (_server, client) = start_typed(config, "none", service);
        let panicked = Err(CallError::Runtime(Fault::Panicked));
        for (method, status) in [(1, Ok(0)), (2, panicked), (1, Ok(0))] {
            let found = client.call(method, "").wait().map(|answer| answer.status);
            assert_eq!(found, status, "{placement}");
        }
    }
}

/// The first sleeper in the list of workers has no room and was rung in vain.
#[test]
fn a_job_rings_a_worker_that_has_room() {
    for _ in 0..10 {
        let waits = Arc::new(AtomicU32::new(0));
        let shared = waits.clone();
        let service = move |request: Request| {
            let waits = shared.clone();
            async move {
                waits.fetch_add(1, Ordering::SeqCst);
                while request.method.0 == 1 && waits.load(Ordering::SeqCst) < 2 {
                    tailwater_rt::time::sleep(Duration::from_millis(1)).await;
                }
                Reply::ok(Vec::new())
            }
        };
        let placement = Placement::Workers(2);
        let config =
            ServerConfig { model: placement.into(), tasks_max: 1, ..ServerConfig::default() };
        let (_server, client) = start(config, "none", service);
        let first = client.call(1, "");
        eventually("one waits", || waits.load(Ordering::SeqCst) == 1);
        let second = client.call(2, "");
        eventually("the other worker takes it", || waits.load(Ordering::SeqCst) == 2);
        first.wait().unwrap();
        second.wait().unwrap();
    }
}

#[test]
fn a_payload_that_does_not_fit_fails_alone() {
    let (_server, client) = start(ServerConfig::default(), "breakwater", echo);
    echoes(&client, 1);
    let too_long = client.call(ECHO, vec![0; 2 << 20]).wait();
    assert!(matches!(too_long, Err(CallError::TooLong { .. })), "{too_long:?}");
    echoes(&client, 10);
}

#[test]
fn draining_finishes_what_was_admitted() {
    let (inside, is_open) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicBool::new(false)));
    let (entered, gate) = (inside.clone(), is_open.clone());
    let (server, client) = start(ServerConfig::default(), "none", move |request: Request| {
        let (entered, gate) = (entered.clone(), gate.clone());
        async move {
            entered.fetch_add(1, Ordering::SeqCst);
            while !gate.load(Ordering::SeqCst) {
                tailwater_rt::time::sleep(Duration::from_micros(100)).await;
            }
            Reply::ok(request.payload)
        }
    });
    let calls: Vec<_> = (0..20_u32).map(|n| client.call(ECHO, n.to_le_bytes().to_vec())).collect();
    eventually("all are inside", || inside.load(Ordering::SeqCst) == 20);
    server.begin_drain(Duration::MAX);
    // The loop says by it that it drains; until then none of the others may end.
    let late = client.call(ECHO, "late").wait().map(|answer| answer.status);
    assert_eq!(late, Err(CallError::Shed(tailwater_control::Reason::Draining)));
    is_open.store(true, Ordering::SeqCst);
    assert_eq!(server.drain(Duration::MAX), Drained::default());
    for (number, call) in (0..20_u32).zip(calls) {
        assert_eq!(call.wait().unwrap().payload, number.to_le_bytes());
    }
}

#[test]
fn a_client_finds_a_server_that_restarts() {
    let listen = Address::Unix(unix_path("restart"));
    let config = ServerConfig { listen, ..ServerConfig::default() };
    let (server, client) = start(config.clone(), "breakwater", echo);
    echoes(&client, 10);
    drop(server);
    let controller = controller("breakwater");
    let _again = Server::start(config, controller.admission.clone(), boxed(echo)).unwrap();
    let served = (0..1_000).any(|_| client.call(ECHO, "again").wait().is_ok());
    assert!(served, "no call reached the restarted server");
    echoes(&client, 10);
}

#[test]
fn a_port_in_use_and_a_core_that_is_not_there_are_told_before_anything_runs() {
    let (server, _client) = start(ServerConfig::default(), "none", echo);
    let config = ServerConfig { listen: server.address().clone(), ..ServerConfig::default() };
    let error = Server::start(config, controller("none").admission, boxed(echo)).err().unwrap();
    assert!(error.to_string().contains("is in use"), "{error}");
    let config = ServerConfig { cores: vec![999], ..ServerConfig::default() };
    let error = Server::start(config, controller("none").admission, boxed(echo)).err().unwrap();
    assert!(error.to_string().contains("core 999"), "{error}");
}

/// Drops the last client when it is woken, which is on the client's own thread.
struct LastOwner {
    client: Mutex<Option<Client>>,
    is_back: AtomicBool,
}

impl Wake for LastOwner {
    fn wake(self: Arc<Self>) {
        drop(self.client.lock().unwrap().take());
        self.is_back.store(true, Ordering::SeqCst);
    }
}

/// A15: the thread waited for itself, which panics in `Drop`.
#[test]
fn a_waker_may_drop_the_last_client() {
    let is_polled = Arc::new(AtomicBool::new(false));
    let seen = is_polled.clone();
    let (_server, client) = start(ServerConfig::default(), "none", move |request: Request| {
        let seen = seen.clone();
        async move {
            while !seen.load(Ordering::SeqCst) {
                tailwater_rt::time::sleep(Duration::from_micros(100)).await;
            }
            Reply::ok(request.payload)
        }
    });
    let mut call = pin!(client.call(ECHO, "last"));
    let owner = LastOwner { client: Mutex::new(Some(client)), is_back: AtomicBool::new(false) };
    let owner = Arc::new(owner);
    let waker = Waker::from(owner.clone());
    assert!(call.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    is_polled.store(true, Ordering::SeqCst);
    eventually("the client is dropped", || owner.is_back.load(Ordering::SeqCst));
    let answer = call.as_mut().poll(&mut Context::from_waker(&waker));
    assert!(matches!(answer, Poll::Ready(Ok(_))), "{answer:?}");
}

#[test]
fn a_client_finds_its_server_by_name() {
    let (server, _) = start(ServerConfig::default(), "breakwater", echo);
    let Address::Tcp(address) = server.address() else { panic!("it listens on TCP") };
    let client = Client::connect(Address::Name("localhost".into(), address.port())).unwrap();
    echoes(&client, 10);
}
