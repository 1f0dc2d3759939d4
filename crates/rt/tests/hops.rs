//! Calls between servers, as a profiler is told of them at both ends. This program has the runtime's functions itself, so
//! that the weak references of `tailwater-marks` lead here.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;
use tailwater_control::Site;
use tailwater_control::catalog::{Controller, Spec};
use tailwater_rt::client::{ChannelConfig, Client};
use tailwater_rt::downstream::{TierConfig, tier};
use tailwater_rt::{Completion, Model, Reply, Request, Server, ServerConfig, Service};

/// What was told, in order: the request, the call's name, and what.
static TOLD: Mutex<Vec<(u64, u64, &str)>> = Mutex::new(Vec::new());

fn tell(request: u64, call: u64, what: &'static str) {
    TOLD.lock().unwrap().push((request, call, what));
}

#[unsafe(no_mangle)]
extern "C" fn tw_req_start(_: u64) {}

#[unsafe(no_mangle)]
extern "C" fn tw_req_start_waited(_: u64, _: u64) {}

#[unsafe(no_mangle)]
extern "C" fn tw_req_block(_: u64) {}

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

fn controller() -> Controller {
    Spec::named("none").build(&Site::of_loops(Duration::from_secs(60), 4, 1)).unwrap()
}

fn server(config: ServerConfig, service: impl Service<Future: Future<Output = Reply>>) -> Server {
    Server::start(config, controller().admission, service).unwrap()
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
    for (request, call, what) in std::mem::take(&mut *TOLD.lock().unwrap()) {
        match what {
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

/// One test, since what is told is of the whole process.
#[test]
fn both_ends_tell_of_a_call_by_one_name_in_every_model() {
    for completion in
        [Completion::Async, Completion::Sync, Completion::Responders(2), Completion::ForkJoin(2)]
    {
        told_with(completion);
    }
}
