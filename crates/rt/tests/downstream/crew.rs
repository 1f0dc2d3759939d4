//! Calls that other threads make: responders, and those of fork and join.

use super::models::{model, started};
use super::{CALLER, HANG, NAME, eventually, fails_fast, fan, joined, leaf, middle};
use std::collections::BTreeSet;
use std::time::Duration;
use tailwater_rt::client::{CallError, CallOptions, Client};
use tailwater_rt::time::now;
use tailwater_rt::{Reply, Request, Server, ServerConfig};

/// With one loop, so that its connections are told from the crew's.
fn with_one_loop(word: &str, leaves: &[Server]) -> ServerConfig {
    ServerConfig { loops: 1, ..started(word, 1, leaves) }
}

/// The connections that so many requests' calls came by.
fn callers(client: &Client, requests: usize) -> BTreeSet<Vec<u8>> {
    let calls: Vec<_> = (0..requests).map(|_| client.call(1, "")).collect();
    calls.into_iter().map(|call| call.wait().expect("it is answered").payload).collect()
}

#[test]
fn the_crew_makes_the_calls_where_the_model_has_one_and_nowhere_else() {
    let leaves = [leaf(0)];
    let service = |request: Request| async move { joined(fan(&request).call(0, CALLER, "").await) };
    let (server, client) = middle(with_one_loop("aib", &leaves), service);
    let follow = |word: &str| {
        server.set_model(model(word)).expect("there are as many threads");
        eventually("the loop follows", || server.is_model_followed());
    };
    let own = callers(&client, 20);
    assert_eq!(own.len(), 1, "the loop has one connection");
    for (word, most) in [("aib+2", 2), ("sib+3", 3), ("aib+1", 1)] {
        follow(word);
        // Members of a larger crew before end what they were rung for.
        eventually("the first members alone make calls", || {
            let found = callers(&client, 40);
            assert!(found.is_disjoint(&own), "{word}: a loop's connection was used");
            found.len() <= most
        });
    }
    follow("sib");
    assert_eq!(callers(&client, 20), own);
}

#[test]
fn a_handler_goes_on_where_it_began_whoever_made_its_calls() {
    let leaves = [leaf(0), leaf(1)];
    let service = |request: Request| async move {
        let thread = std::thread::current().id();
        let answers = joined(fan(&request).call_all(NAME, "").await);
        assert_eq!(std::thread::current().id(), thread);
        answers
    };
    for word in ["aib+2", "sib+2", "adb:2+2", "sdb:2+2"] {
        let (_server, client) = middle(started(word, 2, &leaves), service);
        for _ in 0..20 {
            assert_eq!(client.call(1, "").wait().unwrap().payload, [0, 1], "{word}");
        }
    }
}

#[test]
fn enough_answers_do_not_wait_for_the_rest_of_the_crew() {
    let leaves = [0, 1, 2].map(leaf);
    let service = |request: Request| async move {
        let fan = fan(&request).call(0, NAME, "").call(1, HANG, "").call(2, NAME, "");
        joined(fan.enough(2).await)
    };
    for word in ["aib+1", "aip+2", "sib+3", "sdb:1+3"] {
        let (_server, client) = middle(started(word, 1, &leaves), service);
        for _ in 0..3 {
            assert_eq!(client.call(1, "").wait().unwrap().payload, [0, b'!', 2], "{word}");
        }
        // It was told to end them: else they would be there for an hour.
        eventually("the calls were cancelled", || leaves[1].remaining().unanswered == 0);
    }
}

#[test]
fn a_fan_that_fails_fast_does_not_wait_for_the_rest_of_the_crew() {
    let leaves = [0, 1].map(leaf);
    for word in ["aib+1", "sib+2"] {
        let (_server, client) = middle(started(word, 1, &leaves), fails_fast);
        assert_eq!(client.call(1, "").wait().unwrap().payload, b"", "{word}");
    }
}

/// A thread of fork and join waits for one call; a responder takes the next.
#[test]
fn a_thread_of_fork_and_join_has_one_call_at_a_time() {
    let leaves = [leaf(0), leaf(1)];
    let service = |request: Request| async move {
        let soon = now() + Duration::from_secs(1);
        let two = fan(&request).call(0, HANG, "").call(0, HANG, "");
        let outcomes = two.call(1, NAME, "x").by(soon).await;
        Reply::ok(vec![u8::from(outcomes[2].is_ok())])
    };
    for (word, answered) in [("sib+2", 0), ("sib+3", 1), ("aib+1", 1)] {
        let (_server, client) = middle(started(word, 1, &leaves), service);
        let ask = || client.call(1, "").wait().unwrap().payload[0];
        // A thread that is not connected as yet may need longer than a second on a busy machine.
        eventually("it is as the model says", || ask() == answered);
        assert_eq!(ask(), answered, "{word}");
    }
}

/// The only thread for calls is held for an hour, and a fan that waits for it has a deadline of its own.
#[test]
fn a_fan_ends_by_its_deadline_though_the_whole_crew_is_held() {
    let leaves = [leaf(0)];
    let service = |request: Request| async move {
        let method = if request.method.0 == 1 { HANG } else { NAME };
        let fan = fan(&request).call(0, method, "");
        if request.method.0 == 1 {
            return joined(fan.await);
        }
        let outcome = fan.by(now() + Duration::from_millis(20)).await;
        assert_eq!(outcome, [Err(CallError::Expired)]);
        Reply::ok(b"expired".to_vec())
    };
    let (_server, client) = middle(started("sdb:2+1", 2, &leaves), service);
    let hour = CallOptions { deadline: Duration::from_secs(3_600), ..CallOptions::default() };
    let first = client.call_with(1, "", hour);
    eventually("the leaf has it", || leaves[0].remaining().unanswered == 1);
    assert_eq!(client.call(2, "").wait().unwrap().payload, b"expired");
    drop(first);
    eventually("the leaf was told", || leaves[0].remaining().unanswered == 0);
}

/// What it was given as a responder is no reason to take nothing as a thread of fork and join.
#[test]
fn a_member_with_an_old_call_takes_new_ones_when_the_model_changes() {
    let leaves = [leaf(0)];
    let service = |request: Request| async move {
        let method = if request.method.0 == 1 { HANG } else { NAME };
        joined(fan(&request).call(0, method, "").await)
    };
    let (server, client) = middle(with_one_loop("aib+1", &leaves), service);
    let hour = CallOptions { deadline: Duration::from_secs(3_600), ..CallOptions::default() };
    let first = client.call_with(1, "", hour);
    eventually("the leaf has it", || leaves[0].remaining().unanswered == 1);
    server.set_model(model("sib+1")).expect("there are as many threads");
    eventually("all follow", || server.is_model_followed());
    assert_eq!(client.call_with(2, "", hour).wait().unwrap().payload, [0]);
    drop(first);
}

#[test]
fn a_crew_without_tiers_does_not_disturb() {
    let word = "adb:1+2";
    let config = ServerConfig { model: model(word), ..ServerConfig::default() };
    let (server, client) =
        middle(config, |request: Request| async move { Reply::ok(request.payload) });
    assert_eq!(client.call(1, "x").wait().unwrap().payload, b"x");
    server.set_model(model("sib+1")).unwrap();
    assert_eq!(client.call(1, "x").wait().unwrap().payload, b"x");
}
