//! Handlers that call the servers of another tier.

mod answers;
mod crew;
mod detached;
mod fates;
mod hedges;
mod models;
mod reached;

use crate::common::{Port, boxed, eventually};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tailwater_control::Site;
use tailwater_control::catalog::{Controller, Spec};
use tailwater_rt::client::{CallError, CallOptions, ChannelConfig, Client, Fault};
use tailwater_rt::downstream::{CALLS_MAX, Fan, TierConfig, tier};
use tailwater_rt::time::{now, sleep};
use tailwater_rt::{Address, Reception, Reply, Request, Server, ServerConfig, Service, StartError};

/// Leaves: answers with its number and the arguments.
const NAME: u16 = 1;
/// Leaves: never answers.
const HANG: u16 = 2;
/// Middles: calls all shards.
const WARM: u16 = 9;
/// Leaves: says how much time its caller has left, in whole seconds, its priority and tenant.
const TERMS: u16 = 3;
/// Leaves: answers with its number once [`GATE`] is open.
const GATED: u16 = 4;

/// Leaves: says where its caller's connection comes from.
const CALLER: u16 = 5;

/// Opened by one test.
static GATE: AtomicBool = AtomicBool::new(false);

fn controller() -> Controller {
    Spec::named("none").build(&Site::of_loops(Duration::from_secs(60), 4, 1)).unwrap()
}

fn leaf(number: u8) -> Server {
    leaf_with(ServerConfig::default(), number)
}

/// Where it can be started again once it is gone.
fn leaf_at(port: &Port, number: u8) -> Server {
    let listen = Address::Tcp(port.address());
    leaf_with(ServerConfig { listen, ..ServerConfig::default() }, number)
}

fn leaf_with(config: ServerConfig, number: u8) -> Server {
    let service = move |request: Request| async move {
        match request.method.0 {
            NAME => Reply::ok([&[number], &*request.payload].concat()),
            TERMS => {
                let left = request.deadline.map_or(0, |at| at.since(now()).as_secs());
                Reply::ok([left as u8, request.priority, request.tenant as u8].to_vec())
            }
            CALLER => Reply::ok(format!("{:?}", request.peer.get()).into_bytes()),
            GATED => {
                while !GATE.load(Ordering::Relaxed) {
                    sleep(Duration::from_millis(1)).await;
                }
                Reply::ok(vec![number])
            }
            _ => {
                sleep(Duration::from_secs(3_600)).await;
                Reply::ok(Vec::new())
            }
        }
    };
    Server::start(config, controller().admission, boxed(service)).unwrap()
}

fn channel(server: &Server) -> ChannelConfig {
    ChannelConfig::new(server.address().clone())
}

/// A tier of these servers, one for each shard.
fn tier_of(leaves: &[Server]) -> TierConfig {
    TierConfig::new("leaf", leaves.iter().map(channel).collect()).controller(&controller())
}

fn middle<S: Service>(config: ServerConfig, service: S) -> (Server, Client) {
    let controller = controller();
    let server = Server::start(config, controller.admission.clone(), boxed(service)).unwrap();
    let client = Client::connect_with(channel(&server), &controller).unwrap();
    (server, client)
}

fn with(tier: TierConfig) -> ServerConfig {
    ServerConfig { tiers: vec![tier], ..ServerConfig::default() }
}

/// Asks until all of them answer: a channel of a fresh server connects first.
fn connected(client: &Client) {
    eventually("all shards are connected", || {
        client.call(WARM, "").wait().is_ok_and(|answer| answer.payload == b"all")
    });
}

/// For [`connected`].
async fn warm(request: &Request) -> Reply {
    let all = fan(request).call_all(NAME, "").await;
    Reply::ok(if all.iter().all(Result::is_ok) { b"all".to_vec() } else { Vec::new() })
}

fn fan(request: &Request) -> Fan {
    tier("leaf").expect("the tier is configured").fan(request)
}

/// The answers one behind the other, with `!` for what failed.
fn joined(answers: Vec<Result<tailwater_rt::client::Answer, CallError>>) -> Reply {
    let text = answers.into_iter().flat_map(|answer| answer.map_or(b"!".to_vec(), |it| it.payload));
    Reply::ok(text.collect())
}

#[test]
fn a_handler_has_the_answers_of_all_shards_in_order_whatever_the_reception() {
    let leaves = [0, 1, 2].map(leaf);
    let receptions =
        [Reception::Block, Reception::SpinThenBlock(Duration::from_micros(50)), Reception::Poll];
    for reception in receptions {
        let config = ServerConfig { model: reception.into(), loops: 2, ..with(tier_of(&leaves)) };
        let service = |request: Request| async move {
            joined(fan(&request).call_all(NAME, request.payload).await)
        };
        let (_server, client) = middle(config, service);
        let calls: Vec<_> = (0..200_u8).map(|number| client.call(1, vec![number])).collect();
        for (number, call) in (0..200).zip(calls) {
            assert_eq!(call.wait().unwrap().payload, [0, number, 1, number, 2, number]);
        }
    }
}

#[test]
fn a_call_has_the_requests_deadline_priority_and_tenant() {
    let leaves = [leaf(0)];
    let service = |request: Request| async move { joined(fan(&request).call(0, TERMS, "").await) };
    let (_server, client) = middle(with(tier_of(&leaves)), service);
    let options = CallOptions { deadline: Duration::from_secs(100), priority: 7, tenant: 9 };
    let answer = client.call_with(1, "", options).wait().unwrap().payload;
    // Of a hundred seconds some are gone on a machine as busy as may be; by default they would be ten.
    assert!((20..=100).contains(&answer[0]), "{answer:?}");
    assert_eq!(answer[1..], [7, 9]);
}

#[test]
fn a_leaf_that_hangs_costs_its_own_part_and_no_more_than_the_deadline() {
    let leaves = [leaf(0), leaf(1)];
    let service = |request: Request| async move {
        if request.method.0 == WARM {
            return warm(&request).await;
        }
        // A busy machine may take a second for what takes a millisecond.
        let soon = now() + Duration::from_secs(3);
        let fan = fan(&request).call(0, HANG, "").call(1, NAME, "x").by(soon);
        let [hung, answered] = &fan.await[..] else { panic!("two calls have two outcomes") };
        assert_eq!(hung.as_ref().err(), Some(&CallError::TimedOut));
        Reply::ok(answered.as_ref().expect("this leaf is well").payload.clone())
    };
    let (_server, client) = middle(with(tier_of(&leaves)), service);
    connected(&client);
    assert_eq!(client.call(1, "").wait().unwrap().payload, b"\x01x");
}

#[test]
fn enough_answers_do_not_wait_for_the_rest() {
    let leaves = [0, 1, 2].map(leaf);
    let service = |request: Request| async move {
        let fan = fan(&request).call(0, GATED, "").call(1, HANG, "").call(2, GATED, "");
        joined(fan.enough(2).await)
    };
    let (_server, client) = middle(with(tier_of(&leaves)), service);
    let (call, hanging) = (client.call(1, ""), &leaves[1]);
    eventually("the leaf has it", || hanging.remaining().unanswered == 1);
    GATE.store(true, Ordering::Relaxed);
    assert_eq!(call.wait().unwrap().payload, [0, b'!', 2]);
    // The leaf was told to end it: else it would be there for an hour.
    eventually("the call was cancelled", || hanging.remaining().unanswered == 0);
}

/// A fan of a call that hangs and one that is refused.
async fn fails_fast(request: Request) -> Reply {
    let too_long = vec![0; 2 << 20];
    let fan = fan(&request).call(0, HANG, "").call(1, NAME, too_long);
    let [hung, refused] = &fan.fail_fast().await[..] else { panic!("two calls") };
    assert_eq!(hung.as_ref().err(), Some(&CallError::NotAwaited));
    assert!(matches!(refused, Err(CallError::TooLong { .. })), "{refused:?}");
    Reply::ok(Vec::new())
}

#[test]
fn a_fan_that_fails_fast_does_not_wait_for_the_rest() {
    let leaves = [0, 1].map(leaf);
    let (_server, client) = middle(with(tier_of(&leaves)), fails_fast);
    assert_eq!(client.call(1, "").wait().unwrap().payload, b"");
}

#[test]
fn a_request_that_is_given_up_gives_up_its_calls() {
    let leaves = [leaf(0)];
    let service = |request: Request| async move { joined(fan(&request).call(0, HANG, "").await) };
    let (_server, client) = middle(with(tier_of(&leaves)), service);
    let call = client.call(1, "");
    let hanging = &leaves[0];
    eventually("the leaf has it", || hanging.remaining().unanswered == 1);
    drop(call);
    eventually("the call was cancelled", || hanging.remaining().unanswered == 0);
}

#[test]
fn a_leaf_that_is_gone_and_comes_back_is_called_again() {
    let port = Port::keep();
    let (gone, well) = (leaf_at(&port, 0), leaf(1));
    let address = gone.address().clone();
    let tier = TierConfig::new("leaf", vec![channel(&gone), channel(&well)]);
    let service = |request: Request| async move {
        let soon = now() + Duration::from_secs(1);
        joined(fan(&request).call_all(NAME, "").by(soon).await)
    };
    let (_server, client) = middle(with(tier.controller(&controller())), service);
    let ask = || client.call(1, "").wait().unwrap().payload;
    eventually("both are connected", || ask() == [0, 1]);
    drop(gone);
    eventually("the part of one is missing", || ask() == [b'!', 1]);
    let again = ServerConfig { listen: address, ..ServerConfig::default() };
    let back = |_: Request| async { Reply::ok(vec![7]) };
    let _back = Server::start(again, controller().admission, boxed(back)).unwrap();
    eventually("it is called again", || ask() == [7, 1]);
}

#[test]
fn calls_beyond_the_bounds_end_at_once_and_the_rest_are_answered() {
    let leaves = [leaf(0)];
    let bounded = tier_of(&leaves).calls_max(3);
    let service = |request: Request| async move {
        let five = (0..5).fold(fan(&request), |fan, _| fan.call(0, NAME, ""));
        let outcomes = five.await;
        let full = |it: &&Result<_, CallError>| it.as_ref().err() == Some(&CallError::QueueFull);
        Reply::ok(vec![outcomes.iter().filter(full).count() as u8, outcomes.len() as u8])
    };
    let (_server, client) = middle(with(bounded), service);
    for _ in 0..3 {
        assert_eq!(client.call(1, "").wait().unwrap().payload, [2, 5], "their room is given back");
    }
    let service = |request: Request| async move {
        let many = (0..=CALLS_MAX).fold(fan(&request), |fan, _| fan.call(0, NAME, ""));
        let failed = many.await.iter().filter(|outcome| outcome.is_err()).count();
        Reply::ok(vec![failed as u8])
    };
    let (_server, client) = middle(with(tier_of(&leaves)), service);
    assert_eq!(client.call(1, "").wait().unwrap().payload, [1]);
}

#[test]
fn a_fan_without_calls_is_done_at_once_and_a_shard_too_many_fails_the_request_alone() {
    let leaves = [leaf(0)];
    let service = |request: Request| async move {
        match request.method.0 {
            1 => joined(fan(&request).await),
            _ => joined(fan(&request).call(1, NAME, "").await),
        }
    };
    let (_server, client) = middle(with(tier_of(&leaves)), service);
    assert_eq!(client.call(1, "").wait().unwrap().payload, b"");
    assert_eq!(client.call(2, "").wait(), Err(CallError::Runtime(Fault::Panicked)));
    assert_eq!(client.call(1, "").wait().unwrap().payload, b"");
}

/// Polled by one waker and then by another, it wakes the second.
#[test]
fn a_fan_wakes_what_polled_it_last() {
    struct Unwanted;
    impl std::task::Wake for Unwanted {
        fn wake(self: std::sync::Arc<Self>) {}
    }
    let leaves = [leaf(0)];
    let service = |request: Request| async move {
        let mut fan = Box::pin(fan(&request).call(0, NAME, ""));
        let unwanted = std::sync::Arc::new(Unwanted).into();
        let first = fan.as_mut().poll(&mut std::task::Context::from_waker(&unwanted));
        assert!(first.is_pending(), "its calls leave at the end of the turn");
        joined(fan.await)
    };
    let (_server, client) = middle(with(tier_of(&leaves)), service);
    assert_eq!(client.call(1, "").wait().unwrap().payload, [0]);
}

#[test]
fn replicas_of_a_shard_stand_in_for_one_that_is_gone() {
    let (dead, well, other) = (leaf(0), leaf(1), leaf(2));
    let shards = vec![vec![channel(&dead), channel(&well)], vec![channel(&other)]];
    let tier = TierConfig::replicated("leaf", shards).controller(&controller());
    let service = |request: Request| async move { joined(fan(&request).call_all(NAME, "").await) };
    let (_server, client) = middle(with(tier), service);
    let ask = || client.call(1, "").wait().unwrap().payload;
    eventually("both shards are connected", || !ask().contains(&b'!'));
    drop(dead);
    // One may be lost with the connection: whether it was carried out is unknown. The others are not.
    let answers: Vec<_> = (0..50).map(|_| ask()).collect();
    let lost = answers.iter().filter(|answer| answer[0] == b'!').count();
    assert!(lost <= 1, "{answers:?}");
    assert!(answers[1..].iter().all(|answer| answer[0] != 0 && answer[1] == 2), "{answers:?}");
}

#[test]
fn each_of_two_tiers_has_its_own_shards() {
    let leaves = [0, 1, 2].map(leaf);
    let [first, second] = [&leaves[..1], &leaves[1..]];
    let named = |name, leaves: &[Server]| {
        TierConfig::new(name, leaves.iter().map(channel).collect()).controller(&controller())
    };
    let config = ServerConfig {
        tiers: vec![named("one", first), named("two", second)],
        ..ServerConfig::default()
    };
    let service = |request: Request| async move {
        let tiers = ["two", "one"].map(|name| tier(name).expect("the tier is configured"));
        let mut all = Vec::new();
        for tier in tiers {
            all.extend(tier.fan(&request).call_all(NAME, "").await);
        }
        joined(all)
    };
    let (_server, client) = middle(config, service);
    assert_eq!(client.call(1, "").wait().unwrap().payload, [1, 2, 0]);
}

#[test]
fn a_handler_can_ask_why_a_leaf_is_not_reached() {
    let well = leaf(0);
    let nothing = ChannelConfig::new("127.0.0.1:1".parse().unwrap());
    let tier_config = TierConfig::new("leaf", vec![channel(&well), nothing]);
    let service = |_: Request| async {
        Reply::ok(tier("leaf").and_then(|tier| tier.trouble()).unwrap_or_default().into_bytes())
    };
    let (_server, client) = middle(with(tier_config), service);
    eventually("it is told", || {
        let said = client.call(1, "").wait().unwrap().payload;
        String::from_utf8(said).unwrap().contains("127.0.0.1:1")
    });
}

#[test]
fn tiers_that_cannot_work_are_refused_at_the_start() {
    let leaves = [leaf(0)];
    let twice =
        ServerConfig { tiers: vec![tier_of(&leaves), tier_of(&leaves)], ..ServerConfig::default() };
    let nameless = with(TierConfig::new("", vec![channel(&leaves[0])]));
    for (config, names) in [(twice, "name is leaf for two"), (nameless, "a tier: name is empty")] {
        let echo = |request: Request| async move { Reply::ok(request.payload) };
        let Err(StartError::Config(why)) =
            Server::start(config, controller().admission, boxed(echo))
        else {
            panic!("{names}: it must not start");
        };
        assert!(why.to_string().contains(names), "{why}");
    }
    assert!(tier("leaf").is_none(), "this thread is no loop");
}
