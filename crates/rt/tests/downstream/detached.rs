//! Calls that no handler awaits.

use super::models::started;
use super::*;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex};
use tailwater_control::asqm::{Asqm, Policy};
use tailwater_rt::LockRules;
use tailwater_sync::budget;

/// What was told: the answers of each fan, `!` for what failed.
type Told = Arc<Mutex<Vec<Vec<u8>>>>;

fn text(answers: Vec<Result<tailwater_rt::client::Answer, CallError>>) -> Vec<u8> {
    let of = |answer: Result<_, _>| {
        answer.map_or(b"!".to_vec(), |it: tailwater_rt::client::Answer| it.payload)
    };
    answers.into_iter().flat_map(of).collect()
}

/// Makes a detached fan by this, and answers at once.
fn detaching(
    config: ServerConfig,
    patience: Duration,
    ask: fn(Fan) -> Fan,
) -> (Server, Client, Told) {
    let told = Told::default();
    let tells = told.clone();
    let service = move |request: Request| {
        let told = tells.clone();
        async move {
            if request.method.0 == WARM {
                return warm(&request).await;
            }
            ask(fan(&request)).detach(now() + patience, move |outcomes| {
                told.lock().unwrap().push(text(outcomes));
            });
            Reply::ok(b"gone on".to_vec())
        }
    };
    let (server, client) = middle(config, service);
    (server, client, told)
}

#[test]
fn calls_that_nobody_awaits_are_made_and_told_in_every_model() {
    let leaves = [0, 1].map(leaf);
    for word in ["sib", "aib", "sdb:2", "adb:2", "sib+2", "aib+2", "adb:2+2"] {
        let config = started(word, 4, &leaves);
        let (_server, client, told) =
            detaching(config, Duration::from_secs(60), |fan| fan.call_all(NAME, "x"));
        let calls: Vec<_> = (0..20).map(|_| client.call(1, "")).collect();
        for call in calls {
            assert_eq!(call.wait().unwrap().payload, b"gone on", "{word}");
        }
        eventually("all are told", || told.lock().unwrap().len() == 20);
        assert!(told.lock().unwrap().iter().all(|it| it == &[0, b'x', 1, b'x']), "{word}");
    }
}

/// The request has ten seconds, and its handler ends before the leaf answers.
#[test]
fn a_detached_call_outlives_its_request_and_ends_by_its_own_deadline() {
    let leaves = [leaf(0)];
    for word in ["sib", "aib"] {
        let config = || started(word, 1, &leaves);
        let hangs: fn(Fan) -> Fan = |fan| fan.call(0, HANG, "");
        let (_server, client, told) = detaching(config(), Duration::from_millis(20), hangs);
        assert_eq!(client.call(1, "").wait().unwrap().payload, b"gone on", "{word}");
        eventually("it has ended", || *told.lock().unwrap() == [b"!"]);
        eventually("the leaf was told", || leaves[0].remaining().unanswered == 0);
        let (_server, client, told) = detaching(config(), Duration::from_secs(3_600), hangs);
        let brief = CallOptions { deadline: Duration::from_millis(500), ..CallOptions::default() };
        let mut over = now();
        // One that a busy machine has let expire is made again.
        eventually("it is asked", || {
            over = now() + brief.deadline;
            client.call_with(1, "", brief).wait().is_ok()
        });
        eventually("the request's time is over", || now() > over + Duration::from_millis(100));
        eventually("the leaf has it", || leaves[0].remaining().unanswered > 0);
        assert!(told.lock().unwrap().is_empty(), "{word}: it goes on for an hour");
    }
}

#[test]
fn what_ends_at_once_is_told_as_well() {
    let leaves = [leaf(0)];
    let none = with(tier_of(&leaves));
    let (_server, client, told) = detaching(none, Duration::from_secs(60), |fan| fan);
    assert_eq!(client.call(1, "").wait().unwrap().payload, b"gone on");
    eventually("it is told", || *told.lock().unwrap() == [b""]);
    let full = with(tier_of(&leaves).calls_max(1));
    let (_server, client, told) =
        detaching(full, Duration::from_secs(60), |fan| fan.call(0, NAME, "").call(0, NAME, ""));
    assert_eq!(client.call(1, "").wait().unwrap().payload, b"gone on");
    eventually("it is told", || *told.lock().unwrap() == [[0, b'!']]);
}

/// It is told once it has enough, and the rest is given up.
#[test]
fn a_detached_fan_that_has_enough_gives_up_the_rest() {
    let leaves = [0, 1].map(leaf);
    let (_server, client, told) =
        detaching(with(tier_of(&leaves)), Duration::from_secs(60), |fan| {
            fan.call(0, NAME, "").call(1, HANG, "").enough(1)
        });
    connected(&client);
    assert_eq!(client.call(1, "").wait().unwrap().payload, b"gone on");
    eventually("it is told", || *told.lock().unwrap() == [[0, b'!']]);
    eventually("the other was told to end it", || leaves[1].remaining().unanswered == 0);
}

/// Asks ten times, one after the other, and panics then.
fn again(request: Arc<Request>, rounds: Arc<AtomicU32>) {
    let until = now() + Duration::from_secs(60);
    let next = request.clone();
    fan(&request).call(0, NAME, "").detach(until, move |outcomes| {
        assert!(outcomes[0].is_ok(), "{outcomes:?}");
        let round = rounds.fetch_add(1, Ordering::Relaxed);
        assert!(round < 9, "this is what the test is about");
        again(next, rounds);
    });
}

/// What hears of outcomes is foreign code: it may panic, and may make further calls.
#[test]
fn what_is_told_may_panic_and_may_ask_again() {
    let leaves = [leaf(0)];
    let rounds = Arc::new(AtomicU32::new(0));
    let counts = rounds.clone();
    let service = move |request: Request| {
        let rounds = counts.clone();
        async move {
            if request.method.0 == WARM {
                return warm(&request).await;
            }
            again(Arc::new(request), rounds);
            Reply::ok(Vec::new())
        }
    };
    let (_server, client) = middle(with(tier_of(&leaves)), service);
    assert!(client.call(1, "").wait().is_ok());
    eventually("ten rounds", || rounds.load(Ordering::Relaxed) == 10);
    connected(&client);
}

/// Answers once it is opened.
fn gated(open: &Arc<AtomicBool>) -> Server {
    let open = open.clone();
    let service = move |_: Request| {
        let open = open.clone();
        async move {
            while !open.load(Ordering::Relaxed) {
                sleep(Duration::from_millis(1)).await;
            }
            Reply::ok(Vec::new())
        }
    };
    Server::start(ServerConfig::default(), controller().admission, boxed(service)).unwrap()
}

/// It was refused at locks, or not, by what the handler had left, and its waits were deducted there.
#[test]
fn what_is_told_while_a_handler_holds_its_thread_has_no_part_in_its_budget() {
    let (told, open) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
    let leaves = [leaf(0), gated(&open)];
    let tells = told.clone();
    let service = move |request: Request| {
        let (told, open) = (tells.clone(), open.clone());
        async move {
            assert!(budget::current().is_some(), "requests have budgets");
            let until = now() + Duration::from_secs(60);
            fan(&request).call(0, NAME, "").detach(until, move |_| {
                told.lock().unwrap().push(budget::current());
                open.store(true, Ordering::Relaxed);
            });
            // Its answer comes behind what is told, which finds the thread held.
            let held = fan(&request).call(1, NAME, "").await;
            assert!(budget::current().is_some(), "it has its own again");
            Reply::ok(vec![u8::from(held[0].is_ok())])
        }
    };
    let hour = Duration::from_secs(3_600);
    let locks = LockRules { policy: Policy::Asqm(Asqm::DEFAULT), target: hour, budget: Some(hour) };
    // A worker is held for as long as it takes.
    let model = "sdb:1".parse().unwrap();
    let (_server, client) =
        middle(ServerConfig { model, locks: Some(locks), ..with(tier_of(&leaves)) }, service);
    let options = CallOptions { deadline: Duration::from_secs(60), ..CallOptions::default() };
    assert_eq!(client.call_with(1, "", options).wait().unwrap().payload, [1]);
    assert!(matches!(told.lock().unwrap()[..], [None]), "{told:?}");
}
