//! A loop that a handler holds up, or others keep busy: what others sent in time was in time.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{io::Read as _, io::Write as _, thread};
use tailwater_core::RequestId;
use tailwater_rt::time::now;
use tailwater_rt::{Reply, Request, Server, ServerConfig};
use tailwater_tests::{Call, ECHO, Gate, Heard, LARGE, Served, controller, eventually, router};
use tailwater_wire::{Cancel, Ping};

/// Holds the loop until the test says so.
const HOLD: u16 = 20;

/// A server whose handlers of [`HOLD`] say that they have begun, and go on when they are told.
fn held(config: ServerConfig) -> (Served, Receiver<()>, Sender<()>) {
    let (begun, begins) = channel();
    let (goes_on, told) = channel();
    let (begun, told) = (Mutex::new(begun), Mutex::new(told));
    let gate = Arc::new(Gate::default());
    let service = router(&gate).route(HOLD, move |request: Request| {
        let _ = begun.lock().expect("no panic").send(());
        // The test is over where nobody tells.
        let _ = told.lock().expect("no panic").recv();
        async { Reply::ok(request.payload) }
    });
    let none = controller("none", &[]);
    let server = Server::start(config, none.admission.clone(), service).expect("it starts");
    (Served { server, controller: none, gate }, begins, goes_on)
}

#[test]
fn a_pong_waits_for_no_handler_that_has_not_begun() {
    // Any handler uses up the share of its turn, however short it is.
    let drain_every = Duration::from_nanos(1);
    let (served, begins, goes_on) = held(ServerConfig { drain_every, ..ServerConfig::default() });
    let (mut holder, mut asker) = (served.greeted(), served.greeted());
    let calls = [1, 2].map(|id| Call::new(id, HOLD, b"").bytes());
    holder.say(&calls.concat());
    begins.recv().expect("the first begins");
    let mut asked = Call::new(1, ECHO, b"").bytes();
    Ping { token: 7 }.encode(&mut asked);
    asker.say(&asked);
    goes_on.send(()).expect("it goes on");
    begins.recv().expect("the second begins");
    assert_eq!(asker.hear(), Heard::Pong(7), "while the second runs");
    goes_on.send(()).expect("it goes on");
    assert!(matches!(asker.hear(), Heard::Response(1, ..)));
}

#[test]
fn what_came_while_a_handler_held_the_loop_is_read_before_its_sender_is_judged() {
    let patience = Duration::from_millis(300);
    let (served, begins, goes_on) = held(ServerConfig { patience, ..ServerConfig::default() });
    let mut holder = served.greeted();
    let bytes = Call::new(7, ECHO, b"hello").bytes();
    let is_judged = (0..20).any(|id| {
        let mut sender = served.greeted();
        let said = now();
        sender.say(&bytes[..20]);
        holder.call(&Call::new(id, HOLD, b""));
        begins.recv().expect("it begins");
        sender.say(&bytes[20..]);
        // On a busy machine patience may have ended before the loop was held.
        let is_held_in_time = now().since(said) < patience / 2;
        // The passing of time is what is tested.
        let until = now() + 3 * patience;
        while is_held_in_time && now() < until {
            thread::park_timeout(patience);
        }
        goes_on.send(()).expect("it goes on");
        assert!(matches!(holder.hear(), Heard::Response(..)));
        if is_held_in_time {
            let heard = sender.hear();
            assert!(matches!(heard, Heard::Response(7, ..)), "{heard:?}");
        }
        is_held_in_time
    });
    assert!(is_judged, "this machine stands still all the time");
}

#[test]
fn requests_that_were_left_for_the_next_round_are_answered_beside_many_that_always_send() {
    let served = Served::start(ServerConfig::default(), controller("none", &[]));
    let frame = Call::new(1, LARGE, &vec![0; 900 << 10]).bytes();
    let mut uploads: Vec<_> = (0..120).map(|_| (served.greeted(), 0)).collect();
    let over = Arc::new(AtomicBool::new(false));
    let end = over.clone();
    let uploader = thread::spawn(move || {
        let mut scratch = [0; 4_096];
        uploads.iter().for_each(|(peer, _)| peer.socket().set_nonblocking(true).expect("it can"));
        while !end.load(SeqCst) {
            for (peer, at) in &mut uploads {
                let mut socket = peer.socket();
                let _ = socket.read(&mut scratch);
                *at = (*at + socket.write(&frame[*at..]).unwrap_or(0)) % frame.len();
            }
        }
    });
    eventually("they send", || served.server.totals().received >= 120);
    let mut victim = served.greeted();
    // One go takes 256 frames.
    victim.say(&(0..300).flat_map(|id| Call::new(id, ECHO, b"").bytes()).collect::<Vec<u8>>());
    for answered in 0..300 {
        let heard = victim.hear();
        assert!(matches!(heard, Heard::Response(..)), "after {answered}: {heard:?}");
    }
    over.store(true, SeqCst);
    uploader.join().expect("no panic");
}

#[test]
fn a_client_that_goes_on_asking_does_not_hold_up_a_drain() {
    let served = Served::start(ServerConfig::default(), controller("none", &[]));
    let peer = served.greeted();
    let mut reads = peer.socket().try_clone().expect("it can");
    thread::spawn(move || {
        let mut scratch = [0; 65_536];
        while reads.read(&mut scratch).is_ok_and(|count| count > 0) {}
    });
    let mut asks = peer.socket().try_clone().expect("it can");
    thread::spawn(move || {
        let mut pings = Vec::new();
        (0..64).for_each(|token| Ping { token }.encode(&mut pings));
        while asks.write_all(&pings).is_ok() {}
    });
    // More than its allowance.
    eventually("it is held back", || served.server.totals().frames_in > 1_100);
    let Served { server, .. } = served;
    let drained = thread::spawn(move || server.drain(Duration::MAX));
    eventually("the drain ends", || drained.is_finished());
    assert_eq!(drained.join().expect("no panic").unanswered, 0);
}

#[test]
fn a_cancel_that_crossed_its_answer_ends_no_later_call_of_its_number() {
    let config = ServerConfig { tasks_max: 1, ..ServerConfig::default() };
    let served = Served::start(config, controller("none", &[]));
    let mut peer = served.greeted();
    peer.call(&Call::new(1, tailwater_tests::WAIT, b""));
    eventually("it runs", || served.gate.arrived() == 1);
    let mut said = Call::new(2, ECHO, b"").bytes();
    Cancel { id: RequestId(5) }.encode(&mut said);
    said.extend(Call::new(5, ECHO, b"").bytes());
    peer.say(&said);
    eventually("they wait", || served.server.totals().received == 3);
    served.gate.open();
    for _ in 0..3 {
        let heard = peer.hear();
        assert!(matches!(heard, Heard::Response(..)), "{heard:?}");
    }
}
