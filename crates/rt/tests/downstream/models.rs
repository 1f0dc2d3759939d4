//! One handler under every threading model, and under models that change while it runs.

use super::{
    HANG, NAME, Port, boxed, channel, controller, eventually, fan, joined, leaf, leaf_at, middle,
    tier_of, with,
};
use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::time::Duration;
use tailwater_core::Rng;
use tailwater_rt::client::{CallError, CallOptions, Client};
use tailwater_rt::time::now;
use tailwater_rt::{Model, Reply, Request, Server, ServerConfig};

pub(super) fn model(word: &str) -> Model {
    word.parse().unwrap_or_else(|error| panic!("{word}: {error}"))
}

/// Asks all shards, and then the first what they have answered: two waits, the second of which needs the first.
async fn twice(request: Request) -> Reply {
    let all = joined(fan(&request).call_all(NAME, request.payload.clone()).await);
    let Reply::Response { payload, .. } = all else { panic!("the answers are joined") };
    joined(fan(&request).call(0, NAME, payload).await)
}

pub(super) fn started(word: &str, workers_max: usize, leaves: &[Server]) -> ServerConfig {
    ServerConfig {
        model: model(word),
        workers_max: Some(workers_max),
        crew_max: Some(8),
        loops: 2,
        ..with(tier_of(leaves))
    }
}

#[test]
fn one_handler_answers_alike_in_every_model() {
    let leaves = [0, 1, 2].map(leaf);
    for word in Model::EXAMPLES {
        let (server, client) = middle(started(word, 4, &leaves), twice);
        let calls: Vec<_> = (0..200_u8).map(|number| client.call(1, vec![number])).collect();
        for (number, call) in (0..200).zip(calls) {
            let payload = call.wait().unwrap_or_else(|error| panic!("{word}: {error}")).payload;
            assert_eq!(payload, [0, 0, number, 1, number, 2, number], "{word}");
        }
        assert_eq!(server.model().to_string(), word);
    }
}

/// What a request asked for is done once, whichever models it meets on its way.
#[test]
fn a_model_that_changes_while_serving_loses_nothing_and_does_nothing_twice() {
    const CALLS: usize = 6_000;
    const IN_FLIGHT: usize = 32;
    let leaves = [0, 1].map(leaf);
    let done: Arc<[AtomicU32]> = (0..CALLS).map(|_| AtomicU32::new(0)).collect();
    let counted = done.clone();
    let service = move |request: Request| {
        let done = counted.clone();
        async move {
            let bytes = request.payload[..4].try_into().expect("four bytes");
            done[u32::from_le_bytes(bytes) as usize].fetch_add(1, Relaxed);
            twice(request).await
        }
    };
    let (server, client) = middle(started("aib", 4, &leaves), service);
    let mut rng = Rng::from_seed(1);
    let mut calls = std::collections::VecDeque::new();
    let check = |(number, call): (usize, tailwater_rt::client::CallFuture)| {
        let answer = call.wait().unwrap_or_else(|error| panic!("call {number}: {error}"));
        let [a, b, c, d] = (number as u32).to_le_bytes();
        assert_eq!(answer.payload, [0, 0, a, b, c, d, 1, a, b, c, d], "call {number}");
    };
    for number in 0..CALLS {
        calls.push_back((number, client.call(1, (number as u32).to_le_bytes().to_vec())));
        if calls.len() == IN_FLIGHT {
            check(calls.pop_front().expect("some are under way"));
        }
        // Every third call comes under another model.
        if rng.below(3) == 0 {
            server.set_model(drawn(&mut rng)).expect("there are as many threads");
        }
    }
    calls.into_iter().for_each(check);
    assert!(done.iter().all(|count| count.load(Relaxed) == 1), "each was carried out once");
    eventually("nothing is left", || server.remaining().unanswered == 0);
}

/// Any word, with 4 workers and 8 threads for calls at most.
fn drawn(rng: &mut Rng) -> Model {
    let mut pick = |letters: &str| letters.as_bytes()[rng.below(2) as usize] as char;
    let [completion, placement, reception] = ["sa", "id", "bp"].map(&mut pick);
    let mut word = String::from_iter([completion, placement, reception]);
    if placement == 'd' {
        word += &format!(":{}", 1 + rng.below(4));
    }
    if rng.below(2) == 0 {
        word += &format!("+{}", 1 + rng.below(8));
    }
    if reception == 'b' && rng.below(2) == 0 {
        word += "@spin:20us";
    }
    model(&word)
}

/// Says whether a fan was done at its first poll.
async fn poll_once(request: Request) -> Reply {
    let mut fan = Box::pin(fan(&request).call(0, NAME, ""));
    let first = fan.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    let held = first.is_ready();
    if !held {
        fan.await;
    }
    Reply::ok(vec![u8::from(held)])
}

#[test]
fn a_fan_holds_its_thread_where_the_model_is_synchronous_and_nowhere_else() {
    let leaves = [leaf(0)];
    let (server, client) = middle(started("aib", 4, &leaves), poll_once);
    connect_all(&server, &client);
    for word in Model::EXAMPLES {
        server.set_model(model(word)).expect("there are as many workers");
        eventually("the loops follow", || server.is_model_followed());
        assert_eq!(answer(&client), [u8::from(word.starts_with('s'))], "{word}");
    }
}

/// A second is the longest that a loop is held, and connecting takes time on a busy machine.
fn connect_all(server: &Server, client: &Client) {
    let present = server.model();
    for word in ["aib", "adb:4", "aib+8"] {
        server.set_model(model(word)).expect("there are as many workers");
        (0..64).map(|_| client.call(1, "")).collect::<Vec<_>>().into_iter().for_each(|call| {
            call.wait().expect("it is answered");
        });
    }
    server.set_model(present).expect("it was the model before");
}

/// With one worker a second request does not begin while the first waits for its leaf.
#[test]
fn a_worker_that_waits_begins_nothing_else() {
    let leaves = [leaf(0)];
    // Where it must not wait for the first, that lasts longer than any machine is busy.
    for (word, waits, seconds) in [("adb:1", false, 200), ("sdb:1", true, 1)] {
        let gate = Arc::new(AtomicBool::new(false));
        let seen = gate.clone();
        let service = move |request: Request| {
            let gate = seen.clone();
            async move {
                if request.method.0 == 2 {
                    return Reply::ok(vec![u8::from(gate.load(Relaxed))]);
                }
                let soon = now() + Duration::from_secs(request.payload[0].into());
                let hung = fan(&request).call(0, HANG, "").by(soon).await;
                // Ahead of whatever the worker does next.
                gate.store(true, Relaxed);
                joined(hung)
            }
        };
        let (_server, client) = middle(started(word, 1, &leaves), service);
        let first = client.call(1, vec![seconds]);
        eventually("the leaf has it", || leaves[0].remaining().unanswered == 1);
        let second = client.call(2, "").wait().unwrap().payload;
        assert_eq!(second, [u8::from(waits)], "{word}: whether the first had ended");
        drop(first);
        eventually("the leaf was told", || leaves[0].remaining().unanswered == 0);
    }
}

#[test]
fn a_request_that_holds_a_thread_is_cancelled() {
    let leaves = [leaf(0)];
    for word in ["sdb:1", "sdb:1+1", "sib+2", "aib+1", "adb:1+2"] {
        let service =
            |request: Request| async move { joined(fan(&request).call(0, HANG, "").await) };
        let (_server, client) = middle(started(word, 1, &leaves), service);
        let hour = CallOptions { deadline: Duration::from_secs(3_600), ..CallOptions::default() };
        let call = client.call_with(1, "", hour);
        eventually("the leaf has it", || leaves[0].remaining().unanswered == 1);
        drop(call);
        eventually("the leaf was told", || leaves[0].remaining().unanswered == 0);
    }
}

/// Says which thread it runs on.
async fn name_the_thread(_: Request) -> Reply {
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    Reply::ok(name.into_bytes())
}

#[test]
fn handlers_begin_where_the_model_says() {
    let leaves = [leaf(0)];
    let (server, client) = middle(started("aib", 4, &leaves), name_the_thread);
    let ask = || String::from_utf8(client.call(1, "").wait().unwrap().payload).unwrap();
    assert!(ask().starts_with("tailwater-loop-"));
    for workers in [1, 3, 2, 1] {
        server.set_model(model(&format!("adb:{workers}"))).unwrap();
        eventually("the loops follow", || server.is_model_followed());
        let among = |name: &str| (0..workers).any(|it| name == format!("tailwater-work-{it}"));
        // One that slept as a worker of the model before may have been woken for a request already.
        eventually("the first workers alone take requests", || (0..20).all(|_| among(&ask())));
    }
    server.set_model(model("sip")).unwrap();
    eventually("the loops follow", || server.is_model_followed());
    assert!(ask().starts_with("tailwater-loop-"));
}

/// System calls by which a thread has read and written files so far, bells among them. Sockets count apart. `None` where
/// the kernel keeps no account.
fn file_calls(thread: &Path) -> Option<[u64; 2]> {
    let text = std::fs::read_to_string(thread.join("io")).ok()?;
    let count = |name| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    Some([count("syscr:")?, count("syscw:")?])
}

/// Each bell was read once it had rung: of six system calls more than an in-line request makes, two.
#[test]
fn a_hand_over_rings_once_each_way_and_reads_no_bell() {
    const CALLS: u64 = 50;
    let leaves = [leaf(0)];
    let threads = Arc::new(Mutex::new(BTreeSet::<PathBuf>::new()));
    let noted = threads.clone();
    let service = move |request: Request| {
        let thread = std::fs::read_link("/proc/thread-self").expect("Linux has it");
        noted.lock().unwrap().insert(Path::new("/proc").join(thread));
        async move { joined(fan(&request).call(0, NAME, "").await) }
    };
    let config = ServerConfig { loops: 1, ..started("aib", 1, &leaves) };
    let (server, client) = middle(config, service);
    assert_eq!(answer(&client), [0], "on the loop");
    server.set_model(model("adb:1")).unwrap();
    eventually("the loop follows", || server.is_model_followed());
    assert_eq!(answer(&client), [0], "with the worker");
    let threads: Vec<_> = threads.lock().unwrap().iter().cloned().collect();
    assert_eq!(threads.len(), 2, "the loop and the worker");
    let account = || threads.iter().map(|it| file_calls(it)).collect::<Option<Vec<_>>>();
    let Some(before) = account() else {
        // Past the harness, which hides what tests that pass have printed.
        let why = "this kernel keeps no account of what threads read";
        return drop(writeln!(std::io::stderr(), "PASSED OVER: {why}"));
    };
    (0..CALLS).for_each(|_| assert_eq!(answer(&client), [0]));
    for ([reads, writes], before) in account().expect("as before").into_iter().zip(before) {
        assert_eq!(reads, before[0], "a bell was read");
        assert!(writes - before[1] <= CALLS, "{} rings for {CALLS} requests", writes - before[1]);
    }
}

#[test]
fn a_model_of_more_threads_than_were_started_is_refused_with_what_to_change() {
    let leaves = [leaf(0)];
    let (server, client) = middle(started("adb:1", 2, &leaves), twice);
    let why = server.set_model(model("adb:3")).unwrap_err().to_string();
    assert_eq!(why, "workers_max is 2; 3 or more for adb:3 is needed");
    let why = server.set_model(model("sib+9")).unwrap_err();
    assert!(why.setting == "crew_max" && why.needed.starts_with("9 or more"), "{why}");
    assert_eq!(server.model(), model("adb:1"));
    assert_eq!(client.call(1, "x").wait().unwrap().payload, b"\0\0x");
}

/// Neither a leaf that hangs nor a server that ends waits for a blocked handler beyond its deadline.
#[test]
fn a_thread_that_waits_for_its_handlers_calls_wakes_up_for_their_deadline() {
    let leaves = [leaf(0), leaf(1)];
    for word in ["sib", "sdb:2", "sib+2", "sdb:2+3", "aib+1", "adb:2+2"] {
        let service = |request: Request| async move {
            let soon = now() + Duration::from_millis(50);
            let fan = fan(&request).call(0, HANG, "").call(1, NAME, "x").by(soon);
            let [hung, answered] = &fan.await[..] else { panic!("two calls have two outcomes") };
            assert_eq!(hung.as_ref().err(), Some(&CallError::TimedOut));
            Reply::ok(answered.as_ref().map_or(b"!".to_vec(), |it| it.payload.clone()))
        };
        let (_server, client) = middle(started(word, 2, &leaves), service);
        eventually("both are connected", || answer(&client) == b"\x01x");
    }
}

fn answer(client: &Client) -> Vec<u8> {
    client.call(1, "").wait().map_or(Vec::new(), |answer| answer.payload)
}

#[test]
fn a_server_that_ends_does_not_wait_for_threads_that_wait_for_leaves() {
    let leaves = [leaf(0)];
    for word in ["sib", "sdb:2", "sib+2", "sdb:2+3", "aib+1", "adb:2+2"] {
        // One that goes on asking has no say in it.
        let service = |request: Request| async move {
            while fan(&request).call(0, HANG, "").await[0].is_err() {}
            Reply::ok(Vec::new())
        };
        let (server, client) = middle(started(word, 2, &leaves), service);
        let hour = CallOptions { deadline: Duration::from_secs(3_600), ..CallOptions::default() };
        let call = client.call_with(1, "", hour);
        eventually("the leaf has it", || leaves[0].remaining().unanswered == 1);
        // It waits for the server's threads: an hour, if one of them went on.
        drop(server);
        assert!(call.wait().is_err(), "{word}");
        eventually("the leaf was told", || leaves[0].remaining().unanswered == 0);
    }
}

/// However patient the drain is: nobody waits for the answer any more.
#[test]
fn a_drain_does_not_wait_for_a_worker_whose_client_is_gone() {
    let leaves = [leaf(0)];
    let service = |request: Request| async move { joined(fan(&request).call(0, HANG, "").await) };
    for word in ["sdb:1", "sdb:1+1", "adb:1+1"] {
        let (server, client) = middle(started(word, 1, &leaves), service);
        let hour = CallOptions { deadline: Duration::from_secs(3_600), ..CallOptions::default() };
        let call = client.call_with(1, "", hour);
        eventually("the leaf has it", || leaves[0].remaining().unanswered == 1);
        drop((call, client));
        assert_eq!(server.drain(Duration::MAX).unanswered, 0, "{word}");
        eventually("the leaf was told", || leaves[0].remaining().unanswered == 0);
    }
}

#[test]
fn a_leaf_that_comes_back_is_called_again_by_a_thread_that_waits() {
    let port = Port::keep();
    let gone = leaf_at(&port, 0);
    let address = gone.address().clone();
    let tier = tailwater_rt::downstream::TierConfig::new("leaf", vec![channel(&gone)]);
    let config = ServerConfig { model: model("sib"), ..with(tier.controller(&controller())) };
    let (_server, client) = middle(config, |request: Request| async move {
        let soon = now() + Duration::from_secs(1);
        joined(fan(&request).call_all(NAME, "").by(soon).await)
    });
    eventually("it is connected", || answer(&client) == [0]);
    drop(gone);
    eventually("its part is missing", || answer(&client) == b"!");
    let again = ServerConfig { listen: address, ..ServerConfig::default() };
    let back = |_: Request| async { Reply::ok(vec![7]) };
    let _back = Server::start(again, controller().admission, boxed(back)).unwrap();
    eventually("it is called again", || answer(&client) == [7]);
}

/// A second is the longest for all of them together, and ten of these would hold it for three.
#[test]
fn a_handler_with_many_fans_holds_its_loop_no_longer_than_one_with_one() {
    const FANS: u8 = 10;
    let leaves = [leaf(0)];
    for word in ["sib", "sib+2"] {
        let service = |request: Request| async move {
            let mut held = 0;
            for _ in 0..FANS {
                let soon = now() + Duration::from_millis(300);
                let mut fan = Box::pin(fan(&request).call(0, HANG, "").by(soon));
                let first = fan.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                held += u8::from(first.is_ready());
            }
            Reply::ok(vec![held])
        };
        let (_server, client) = middle(started(word, 1, &leaves), service);
        let held = answer(&client)[0];
        // Four, and more where the thread was off its core between a fan's making and its poll.
        assert!((1..=FANS - 3).contains(&held), "{word}: {held} fans were waited for");
    }
}
