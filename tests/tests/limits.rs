//! What a server allows its clients, and what it does at each limit.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tailwater_control::Reason;
use tailwater_rt::client::{CallError, ChannelConfig, Client};
use tailwater_rt::{Introspection, Placement, Reply, Router, Server, ServerConfig};
use tailwater_tests::{Bystander, Call, ECHO, Heard, Peer, Served, WAIT, controller, eventually};
use tailwater_wire::{Fault, GoodbyeCode, Pong};

const PLACEMENTS: [Placement; 2] = [Placement::Inline, Placement::Workers(2)];
const HANG: u16 = 1;
const RESERVED: u16 = 2;
const INTROSPECT: u16 = 0xff00;

/// Counts itself while it lives.
struct Alive(Arc<AtomicU32>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

/// A server with a handler that never ends, how many of those there are, and a client.
fn hanging(config: ServerConfig) -> (Server, Arc<AtomicU32>, Client) {
    let alive = Arc::new(AtomicU32::new(0));
    let counter = alive.clone();
    let router = Router::new()
        .route(HANG, move |_| {
            counter.fetch_add(1, SeqCst);
            let alive = Alive(counter.clone());
            async move {
                let _alive = alive;
                std::future::pending::<Reply>().await
            }
        })
        .route(RESERVED, |_| async { Reply::failure(Fault::TooOften.status(), "not mine to say") });
    let none = controller("none", &[]);
    let server = Server::start(config, none.admission.clone(), router).expect("it starts");
    let config = ChannelConfig::new(server.address().clone());
    let client = Client::connect_with(config, &none).expect("a client starts");
    (server, alive, client)
}

#[test]
fn a_handler_ends_at_the_servers_limit_and_its_caller_is_told() {
    for placement in PLACEMENTS {
        // Long enough for workers on a busy machine to begin each.
        let handler_max = Some(Duration::from_secs(1));
        let (server, alive, client) = hanging(ServerConfig {
            model: placement.into(),
            handler_max,
            ..ServerConfig::default()
        });
        let calls: Vec<_> = (0..20).map(|_| client.call(HANG, "")).collect();
        for call in calls {
            assert_eq!(call.wait().map(drop), Err(CallError::Runtime(Fault::HandlerTimeout)));
        }
        eventually("no handler is left", || alive.load(SeqCst) == 0);
        eventually("all are counted", || server.totals().timed_out == 20);
    }
}

/// A server of one worker whose handler blocks it until it is told to go on. What the handler says when it
/// begins comes by the receiver.
fn blocking(handler_max: Duration) -> (Server, Sender<()>, Receiver<()>) {
    let (go, told) = channel();
    let (says, begun) = channel();
    let (told, says) = (Mutex::new(told), Mutex::new(says));
    let router = Router::new().route(HANG, move |_| {
        says.lock().expect("no panic").send(()).expect("the test is there");
        // It fails when the test has ended.
        let _ = told.lock().expect("no panic").recv();
        async { Reply::ok(Vec::new()) }
    });
    let config = ServerConfig {
        model: Placement::Workers(1).into(),
        handler_max: Some(handler_max),
        ..ServerConfig::default()
    };
    let none = controller("none", &[]);
    (Server::start(config, none.admission, router).expect("it starts"), go, begun)
}

/// The client may repeat it elsewhere: nothing of it was done.
#[test]
fn what_no_worker_has_begun_by_the_limit_is_refused_and_did_not_time_out() {
    let (server, go, begun) = blocking(Duration::from_secs(1));
    let config = ChannelConfig::new(server.address().clone());
    let client = Client::connect_with(config, &controller("none", &[])).expect("it starts");
    let first = client.call(HANG, "");
    begun.recv_timeout(Duration::from_secs(30)).expect("the worker begins the first");
    let second = client.call(HANG, "");
    assert_eq!(first.wait().map(drop), Err(CallError::Runtime(Fault::HandlerTimeout)));
    assert_eq!(second.wait().map(drop), Err(CallError::Shed(Reason::Deadline)));
    eventually("both are counted", || {
        let totals = server.totals();
        (totals.timed_out, totals.shed_total()) == (1, 1)
    });
    drop(go);
    drop(server);
    assert!(begun.try_recv().is_err(), "the second was not begun");
}

#[test]
fn a_status_of_the_runtimes_own_is_refused_from_handlers() {
    for placement in PLACEMENTS {
        let (_server, _, client) =
            hanging(ServerConfig { model: placement.into(), ..ServerConfig::default() });
        let answer = client.call(RESERVED, "").wait().map(drop);
        assert_eq!(answer, Err(CallError::Runtime(Fault::Panicked)));
        let answer = client.call(77, "").wait().map(drop);
        assert_eq!(answer, Err(CallError::Runtime(Fault::UnknownMethod)));
    }
}

#[test]
fn the_servers_counts_are_told_to_those_that_may_ask() {
    for (introspection, may_ask) in
        [(Introspection::Local, true), (Introspection::Anyone, true), (Introspection::Off, false)]
    {
        let (_server, _, client) =
            hanging(ServerConfig { introspection, ..ServerConfig::default() });
        match client.call(INTROSPECT, "").wait() {
            Ok(answer) if may_ask => {
                let counts = tailwater_rt::counts::Counts::parse(&answer.payload);
                assert!(counts.is_ok(), "{counts:?}");
            }
            answer => {
                let forbidden = answer == Err(CallError::Runtime(Fault::Forbidden));
                assert!(forbidden && !may_ask, "{introspection:?}: {answer:?}");
            }
        }
    }
}

#[test]
fn a_client_that_asks_too_often_is_told_so_and_others_go_on() {
    let served = Served::start(ServerConfig::default(), controller("none", &[]));
    let bystander = Bystander::of(&served);
    let client = served.client();
    let asked: Vec<_> = (0..200).map(|_| client.call(INTROSPECT, "")).collect();
    let answers: Vec<_> = asked.into_iter().map(|call| call.wait().map(drop)).collect();
    let told = answers.iter().filter(|answer| answer.is_ok()).count();
    assert!((17..200).contains(&told), "{told} of 200");
    let too_often = Err(CallError::Runtime(Fault::TooOften));
    assert!(answers.iter().all(|it| it.is_ok() || *it == too_often), "{answers:?}");
    bystander.is_unhurt();
}

#[test]
fn a_silent_client_is_asked_and_sent_away_and_one_that_answers_stays() {
    let config = ServerConfig {
        ping_after: Duration::from_millis(40),
        // Long enough for a peer on a busy machine.
        patience: Duration::from_secs(5),
        ..ServerConfig::default()
    };
    let served = Served::start(config, controller("breakwater", &[]));
    let (mut there, mut gone) = (served.peer(), served.peer());
    gone.greet();
    there.greet();
    assert!(matches!(gone.hear(), Heard::Ping(_)));
    let answers = std::thread::spawn(move || {
        let mut asked = 0;
        loop {
            let Heard::Ping(token) = there.hear() else { return asked };
            asked += 1;
            let mut pong = Vec::new();
            Pong { token }.encode(&mut pong);
            there.say(&pong);
        }
    });
    assert_eq!(gone.farewell(), GoodbyeCode::Idle);
    drop(gone);
    eventually("the silent one is gone", || served.server.totals().closed == 1);
    assert_eq!(served.server.remaining().connections, 1, "the other is still there");
    drop(served);
    assert!(answers.join().expect("no panic") > 10);
}

/// The beginning of a frame of a mebibyte.
fn beginning() -> Vec<u8> {
    let mut whole = Call::new(1, ECHO, &[7; 1_000_000]).bytes();
    whole.truncate(900_000);
    whole
}

/// Whether a peer is sent away; the others are let go on.
fn hears_of_memory(peer: &mut Peer) -> bool {
    let rest = &Call::new(1, ECHO, &[7; 1_000_000]).bytes()[900_000..];
    peer.say(rest);
    match peer.hear() {
        Heard::Response(..) => false,
        Heard::Goodbye(GoodbyeCode::TooManyConnections, words) => {
            assert!(words.contains("memory"), "{words}");
            true
        }
        other => panic!("{other:?} came"),
    }
}

#[test]
fn unfinished_frames_of_all_clients_together_are_bounded() {
    let config = ServerConfig { input_total_max: 2 << 20, ..ServerConfig::default() };
    let served = Served::start(config, controller("none", &[]));
    let mut peers: Vec<Peer> = (0..3).map(|_| served.peer()).collect();
    for peer in &mut peers {
        peer.greet();
    }
    for peer in &mut peers {
        peer.say(&beginning());
    }
    // Three times WELCOME, and the farewell.
    eventually("one is sent away", || served.server.totals().frames_out == 4);
    let bystander = Bystander::of(&served);
    bystander.goes_on();
    let refused: usize = peers.iter_mut().map(|peer| usize::from(hears_of_memory(peer))).sum();
    assert_eq!(refused, 1, "two of them fit");
    bystander.is_unhurt();
}

#[test]
fn a_client_that_needs_little_memory_does_not_end_for_those_that_hold_it_all() {
    let config = ServerConfig { input_total_max: 2 << 20, ..ServerConfig::default() };
    let served = Served::start(config, controller("none", &[]));
    let mut greedy: Vec<Peer> = (0..2).map(|_| served.peer()).collect();
    for peer in &mut greedy {
        peer.greet();
        let whole = Call::new(1, ECHO, &[7; 1_040_000]).bytes();
        peer.say(&whole[..1_035_000]);
    }
    let mut modest = served.peer();
    modest.greet();
    // Each takes a turn of the loop at least, and sixteen turns read what the others have sent.
    for id in 100..600 {
        modest.call(&Call::new(id, ECHO, b""));
        assert!(matches!(modest.hear(), Heard::Response(..)));
    }
    let whole = Call::new(1, ECHO, &[7; 100_000]).bytes();
    modest.say(&whole[..90_000]);
    // Three times WELCOME, the answers, and the farewell.
    eventually("one is sent away", || served.server.totals().frames_out == 504);
    modest.say(&whole[90_000..]);
    let heard = modest.hear();
    assert!(matches!(heard, Heard::Response(1, ..)), "{heard:?}");
}

#[test]
fn one_connection_has_its_share_of_handlers_and_others_have_theirs() {
    for placement in PLACEMENTS {
        let tasks_per_connection_max = Some(3);
        let (server, alive, greedy) = hanging(ServerConfig {
            model: placement.into(),
            tasks_per_connection_max,
            ..ServerConfig::default()
        });
        let calls: Vec<_> = (0..10).map(|_| greedy.call(HANG, "")).collect();
        eventually("all have come", || server.totals().received == 10);
        eventually("three run", || alive.load(SeqCst) == 3);
        let config = ChannelConfig::new(server.address().clone());
        let other = Client::connect_with(config, &controller("none", &[])).expect("it starts");
        let answer = other.call(RESERVED, "").wait().map(drop);
        assert_eq!(answer, Err(CallError::Runtime(Fault::Panicked)));
        assert_eq!(alive.load(SeqCst), 3, "seven wait for their turn");
        drop((server, calls));
    }
}

/// Else a few clients that hang, without windows, would have the server refuse all others.
#[test]
fn what_waits_for_its_own_connections_handlers_leaves_the_run_queue_to_others() {
    for placement in PLACEMENTS {
        let (server, alive, greedy) = hanging(ServerConfig {
            model: placement.into(),
            queue_max: 8,
            tasks_per_connection_max: Some(1),
            ..ServerConfig::default()
        });
        let first = greedy.call(HANG, "");
        eventually("one runs", || alive.load(SeqCst) == 1);
        let calls: Vec<_> = (0..20).map(|_| greedy.call(HANG, "")).collect();
        eventually("all have come", || server.totals().received == 21);
        let config = ChannelConfig::new(server.address().clone());
        let other = Client::connect_with(config, &controller("none", &[])).expect("it starts");
        for _ in 0..10 {
            let answer = other.call(RESERVED, "").wait().map(drop);
            assert_eq!(answer, Err(CallError::Runtime(Fault::Panicked)));
        }
        eventually("eight wait, others were refused", || server.totals().shed_total() == 12);
        drop((server, first, calls));
    }
}

/// Parked requests are begun as their connection's handlers end, in order.
#[test]
fn requests_beyond_the_share_are_served_in_turn() {
    let config = ServerConfig { tasks_per_connection_max: Some(2), ..ServerConfig::default() };
    let served = Served::start(config, controller("none", &[]));
    let mut peer = served.peer();
    peer.greet();
    for id in 0..50 {
        peer.call(&Call::new(id, WAIT, b""));
    }
    eventually("two run", || served.gate.arrived() == 2);
    served.gate.open();
    let mut answered: Vec<u64> = (0..50)
        .map(|_| match peer.hear() {
            Heard::Response(id, ..) => id,
            other => panic!("an answer was due, {other:?} came"),
        })
        .collect();
    answered.sort_unstable();
    assert!(answered.into_iter().eq(0..50));
}
