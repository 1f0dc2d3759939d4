//! Mid-tier and leaves as servers on sockets.

use crate::common::{HITS, World, midtier};
use std::time::Duration;
use tailwater_control::Site;
use tailwater_control::catalog::{Controller, Spec};
use tailwater_rt::client::{CallError, ChannelConfig, Client};
use tailwater_rt::downstream::TierConfig;
use tailwater_rt::{Model, Reply, Request, Server, ServerConfig};
use tailwater_setalgebra::intersect::Method;
use tailwater_setalgebra::midtier::MidTier;
use tailwater_setalgebra::wire::{Answer, BAD_REQUEST, INTERSECT};

fn controller() -> Controller {
    Spec::named("none").build(&Site::one_loop(Duration::from_secs(60), 1)).expect("a controller")
}

fn channel(server: &Server) -> ChannelConfig {
    ChannelConfig::new(server.address().clone())
}

fn leaves(world: &World, count: u32) -> Vec<Server> {
    let start = |leaf: tailwater_setalgebra::leaf::Leaf| {
        Server::start(ServerConfig::default(), controller().admission, leaf.router())
            .expect("it starts")
    };
    world.leaves(count, Method::Gallop).into_iter().map(start).collect()
}

fn front(midtier: MidTier, leaves: &[Server], model: &str) -> (Server, Client) {
    let tier = TierConfig::new("leaf", leaves.iter().map(channel).collect());
    let model: Model = model.parse().expect("a model");
    let tiers = vec![tier.controller(&controller())];
    let config = ServerConfig { model, tiers, ..ServerConfig::default() };
    let server =
        Server::start(config, controller().admission, midtier.router()).expect("it starts");
    let client = Client::connect_with(channel(&server), &controller()).expect("a client");
    (server, client)
}

#[test]
fn every_query_is_answered_rightly_under_each_way_to_wait_for_leaves() {
    let world = World::generated();
    let leaves = leaves(&world, 3);
    for model in ["aib", "sib", "adb:2"] {
        let (_server, client) = front(midtier(3), &leaves, model);
        let calls: Vec<_> = (0..world.questions.count())
            .map(|query| client.call(INTERSECT.0, world.questions.request(query, query as u64)))
            .collect();
        for (query, call) in calls.into_iter().enumerate() {
            let answered =
                call.wait().unwrap_or_else(|why| panic!("{model}, query {query}: {why}"));
            let answer = Answer::of_bytes(&answered.payload).expect("an answer");
            assert_eq!((answer.tag, answer.missing), (query as u64, 0));
            assert!(
                world.questions.is_answer(query, &answer, (3, 3, HITS)),
                "{model}, query {query}"
            );
        }
    }
}

#[test]
fn what_is_no_request_is_answered_with_what_is_needed() {
    let world = World::generated();
    let leaves = leaves(&world, 1);
    let (_server, client) = front(midtier(1), &leaves, "aib");
    for nonsense in [&b""[..], b"nonsense", &[0; 9]] {
        let answered = client.call(INTERSECT.0, nonsense.to_vec()).wait().expect("an answer");
        assert_eq!(answered.status, BAD_REQUEST, "{nonsense:?}");
    }
}

/// A leaf that hangs is waited for as long as the mid-tier has patience; then the others' documents are the answer.
#[test]
fn a_leaf_that_hangs_is_named_as_missing() {
    let world = World::generated();
    let mut servers = leaves(&world, 3);
    let hangs = |_: Request| std::future::pending::<Reply>();
    servers[1] =
        Server::start(ServerConfig::default(), controller().admission, hangs).expect("it starts");
    let patience = Some(Duration::from_millis(100));
    let (_server, client) = front(MidTier { least: 1, patience, ..midtier(3) }, &servers, "aib");
    // A busy machine may answer for no leaf in time; then the request is refused, and asked again.
    let answer = (0..100).find_map(|query| {
        match client.call(INTERSECT.0, world.questions.request(query, 0)).wait() {
            Ok(answered) => {
                let answer = Answer::of_bytes(&answered.payload).expect("an answer");
                assert!(world.questions.is_answer(query, &answer, (3, 1, HITS)), "query {query}");
                Some(answer)
            }
            Err(CallError::Shed(_)) => None,
            Err(other) => panic!("query {query}: {other}"),
        }
    });
    let answer = answer.expect("some request was answered");
    assert_eq!(answer.missing & 2, 2, "leaf 1 hangs");
    // With all leaves needed it would be no answer.
    assert!(!world.questions.is_answer(0, &answer, (3, 3, HITS)));
}
