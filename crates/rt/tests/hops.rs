//! Calls between servers, as a profiler is told of them at both ends. This program has the runtime's functions itself, so
//! that the weak references of `tailwater-marks` lead here.

mod common;

use common::{boxed, eventually};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tailwater_control::catalog::{Controller, Spec};
use tailwater_control::retry::First;
use tailwater_control::{Reason, RetryConfig, Site};
use tailwater_marks::Mark;
use tailwater_rt::client::{CallError, ChannelConfig, Client};
use tailwater_rt::downstream::{TierConfig, tier};
use tailwater_rt::{Completion, Model, Placement, Reply, Request, Server, ServerConfig, Service};

/// What was told, in order: the request, the call's name, and what.
static TOLD: Mutex<Vec<(u64, u64, &str)>> = Mutex::new(Vec::new());
/// What is told is of the whole process.
static ALONE: Mutex<()> = Mutex::new(());

fn tell(request: u64, call: u64, what: &'static str) {
    TOLD.lock().unwrap().push((request, call, what));
}

#[unsafe(no_mangle)]
extern "C" fn tw_req_start(request: u64) {
    tell(request, 0, "start");
}

#[unsafe(no_mangle)]
extern "C" fn tw_req_start_waited(request: u64, _: u64) {
    tell(request, 0, "start waited");
}

#[unsafe(no_mangle)]
extern "C" fn tw_req_block(request: u64) {
    tell(request, 0, "block");
}

#[unsafe(no_mangle)]
extern "C" fn tw_req_finish(request: u64) {
    tell(request, 0, "finish");
}

#[unsafe(no_mangle)]
extern "C" fn tw_req_called(request: u64, call: u64) {
    tell(request, call, "called");
}

#[unsafe(no_mangle)]
extern "C" fn tw_req_sent(request: u64, call: u64) {
    tell(request, call, "sent");
}

#[unsafe(no_mangle)]
extern "C" fn tw_req_answered(request: u64, call: u64) {
    tell(request, call, "answered");
}

/// What was told so far.
fn take_told() -> Vec<(u64, u64, &'static str)> {
    std::mem::take(&mut *TOLD.lock().unwrap())
}

/// What was told of each request, in order.
fn by_request() -> Vec<Vec<&'static str>> {
    let mut all: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
    take_told().iter().for_each(|&(request, _, what)| all.entry(request).or_default().push(what));
    all.into_values().collect()
}

fn controller() -> Controller {
    Spec::named("none").build(&Site::of_loops(Duration::from_secs(60), 4, 1)).unwrap()
}

fn server(config: ServerConfig, service: impl Service<Future: Future<Output = Reply>>) -> Server {
    Server::start(config, controller().admission, boxed(service)).unwrap()
}

async fn echo(request: Request) -> Reply {
    Reply::ok(request.payload)
}

async fn asks_all(request: Request) -> Reply {
    let leaves = tier("leaves").expect("it is configured");
    let outcomes = leaves.fan(&request).call_all(1, request.payload.clone()).await;
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    Reply::ok(request.payload)
}

/// Each call of the front is told of at both ends, under one name, in the only order there is.
fn told_with(completion: Completion) {
    let leaves = [(); 2].map(|()| server(ServerConfig::default(), echo));
    let servers = leaves.iter().map(|leaf| ChannelConfig::new(leaf.address().clone()));
    let tier = TierConfig::new("leaves", servers.collect()).controller(&controller());
    let model = Model { completion, ..Model::default() };
    let front =
        server(ServerConfig { model, tiers: vec![tier], ..ServerConfig::default() }, asks_all);
    let client = Client::connect(front.address().clone()).unwrap();
    let calls: Vec<_> = (0..30).map(|_| client.call(1, "asked")).collect();
    calls.into_iter().for_each(|call| assert_eq!(call.wait().unwrap().payload, b"asked"));
    drop((client, front, leaves));
    let mut by_call: BTreeMap<u64, Vec<(u64, &str)>> = BTreeMap::new();
    let mut ended = Vec::new();
    for (request, call, what) in take_told() {
        match what {
            "start" | "start waited" | "block" => {}
            "finish" => ended.push(request),
            // Its server has ended it before its caller has the answer.
            "answered" => {
                let of = by_call.get_mut(&call).expect("it was sent");
                assert!(of.len() == 2 && ended.contains(&of[1].0), "{completion:?}: {of:?}");
                of.push((request, what));
            }
            _ => by_call.entry(call).or_default().push((request, what)),
        }
    }
    // The client is no server: what it calls has one end that tells.
    let (of_front, of_leaves): (Vec<_>, Vec<_>) =
        by_call.values().partition(|told| told.len() == 1);
    assert_eq!((of_front.len(), of_leaves.len()), (30, 60), "{completion:?}");
    assert!(of_front.iter().all(|told| told[0].1 == "called"), "{completion:?}");
    for told in of_leaves {
        let whats: Vec<_> = told.iter().map(|(_, what)| *what).collect();
        assert_eq!(whats, ["sent", "called", "answered"], "{completion:?}");
        assert!(told[0].0 == told[2].0 && told[0].0 != told[1].0, "{completion:?}: {told:?}");
    }
}

#[test]
fn both_ends_tell_of_a_call_by_one_name_in_every_model() {
    let _alone = alone();
    for completion in
        [Completion::Async, Completion::Sync, Completion::Responders(2), Completion::ForkJoin(2)]
    {
        told_with(completion);
    }
}

/// Names of the calls of a client with two replicas, of which each has served some.
fn names_at_replicas(client_id: u64) -> Vec<u64> {
    let replicas = [(); 2].map(|()| server(ServerConfig::default(), echo));
    let config = |replica: &Server| ChannelConfig {
        client_id,
        ..ChannelConfig::new(replica.address().clone())
    };
    let retry = RetryConfig { first: First::LeastLoaded, ..RetryConfig::default() };
    let servers = replicas.iter().map(config).collect();
    let client = Client::replicas(servers, &controller(), retry).unwrap();
    let mut mark = Mark::new();
    mark.works();
    eventually("both replicas get calls", || {
        let calls: Vec<_> = (0..16).map(|_| client.call(1, "asked")).collect();
        calls.into_iter().for_each(|call| assert_eq!(call.wait().unwrap().payload, b"asked"));
        replicas.iter().all(|replica| replica.totals().served >= 8)
    });
    drop((client, mark, replicas));
    take_told().iter().filter(|told| told.2 == "sent").map(|told| told.1).collect()
}

/// Both connections begin with the same ids.
#[test]
fn no_two_calls_of_a_client_have_one_name_at_whichever_replica() {
    let _alone = alone();
    for client_id in [0, 7] {
        let names = names_at_replicas(client_id);
        let distinct: BTreeSet<_> = names.iter().collect();
        assert!(names.len() >= 16);
        assert_eq!(distinct.len(), names.len(), "client number {client_id}");
    }
}

/// Else the time of what it calls would be the handler's own.
#[test]
fn a_handler_that_blocks_for_a_call_does_not_work_meanwhile() {
    let _alone = alone();
    let leaf = server(ServerConfig::default(), echo);
    let asked = Client::connect(leaf.address().clone()).unwrap();
    let front = server(ServerConfig::default(), move |request: Request| {
        let call = asked.call(1, request.payload);
        async move { Reply::ok(call.wait().unwrap().payload) }
    });
    let client = Client::connect(front.address().clone()).unwrap();
    assert_eq!(client.call(1, "asked").wait().unwrap().payload, b"asked");
    drop((client, front, leaf));
    let all = by_request();
    let mut told = all.into_iter().find(|told| told.contains(&"sent")).expect("the front's");
    // Another thread sends it, and reads its answer.
    told.retain(|&what| what != "sent");
    let place = |what| told.iter().rposition(|it| *it == what).expect(what);
    assert!(place("answered") < place("start"), "{told:?}");
    told.retain(|&what| what != "answered");
    assert_eq!(told[1..], ["called", "block", "start", "block", "finish"], "{told:?}");
}

/// Else a trace has them nowhere, and their callers' time as that of another program.
#[test]
fn what_has_waited_and_is_shed_is_told_of_and_what_is_refused_on_arrival_is_not() {
    let _alone = alone();
    let (gate, has_begun) = (Arc::new(Mutex::new(())), Arc::new(AtomicBool::new(false)));
    let (shut, begins) = (gate.clone(), has_begun.clone());
    let model = Model { placement: Placement::Workers(1), ..Model::default() };
    let config = ServerConfig { model, pending_max: 3, ..ServerConfig::default() };
    let server = server(config, move |_: Request| {
        begins.store(true, SeqCst);
        drop(shut.lock());
        std::future::ready(Reply::ok(Vec::new()))
    });
    // It is let go before the server ends, also by a panic.
    let held = gate.lock().unwrap();
    let client = Client::connect(server.address().clone()).unwrap();
    let first = client.call(1, "holds the worker");
    eventually("the first is with the worker", || has_begun.load(SeqCst));
    // One waits for the worker, the other one for a place there.
    let others = [(); 2].map(|()| client.call(1, "waits"));
    let refused = client.call(1, "one more than the connection may have");
    assert_eq!(refused.wait(), Err(CallError::Shed(Reason::QueueFull)));
    drop(others);
    eventually("the others are shed", || server.totals().shed.iter().sum::<u64>() == 3);
    drop(held);
    first.wait().unwrap();
    drop((client, server));
    // The one that is served has worked in its handler.
    assert_eq!(by_request(), vec![vec!["start waited", "called", "block", "finish"]; 3]);
}

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
