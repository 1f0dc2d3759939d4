//! Churn: two thousand clients connect, call, vanish, stall, trickle and cancel, and the server drains and
//! restarts under them. Afterwards nothing is left of it, and every promised answer has come.
//!
//! Thirty seconds long, or `TAILWATER_CHURN_SECONDS`; `TAILWATER_CHURN_SEED` repeats a run. The machine
//! may be slow: a run ends once it has seen enough events, however long that takes.

mod crowd;
mod link;
mod peer;
mod service;
mod system;

use crowd::Crowd;
use service::Handlers;
use std::time::{Duration, Instant};
use system::{Held, resident_kib};
use tailwater_core::Rng;
use tailwater_rt::client::{CallOptions, ChannelConfig, Client};
use tailwater_rt::{Address, Placement, Server};
use tailwater_tests::{Port, controller, eventually};

/// Events in a second of the run, at least.
const RATE: u64 = 200;
/// The server restarts after so many events.
const RESTART_EVERY: u64 = 2_500;
/// A client of the project's own comes and goes after so many events.
const CLIENT_EVERY: u64 = 100;
/// Memory is compared in runs of two minutes and more.
const COMPARED_FROM: u64 = 120;

fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is '{text}', not a number")),
        Err(_) => default,
    }
}

#[test]
fn after_churn_nothing_is_left_and_every_promised_answer_has_come() {
    let seconds = setting("TAILWATER_CHURN_SECONDS", 30);
    let seed = setting("TAILWATER_CHURN_SEED", tailwater_rt::time::now().as_nanos());
    say(&format!("TAILWATER_CHURN_SEED={seed} repeats this run"));
    let port = Port::keep();
    let before = Held::now();
    Churn::start(&port, before.clone(), seed).run(seconds).end();
    eventually(&format!("descriptors and threads are as before: {before:?}"), || {
        Held::now() == before
    });
}

/// A server under a crowd.
struct Churn {
    server: Server,
    handlers: Handlers,
    crowd: Crowd,
    /// What the process held before it had a server.
    before: Held,
    restarts: u32,
}

impl Churn {
    fn start(port: &Port, before: Held, seed: u64) -> Self {
        let handlers = Handlers::new();
        let server = started(&handlers, Address::Tcp(port.address()), 0);
        let crowd = Crowd::new(port.address(), handlers.clone(), Rng::from_seed(seed));
        Self { server, handlers, crowd, before, restarts: 0 }
    }

    /// Runs for so long, and for so many events.
    fn run(mut self, seconds: u64) -> Self {
        let began = Instant::now();
        let mut memory = Vec::new();
        let mut events = 0;
        self.crowd.gather();
        while events < RATE * seconds || began.elapsed() < Duration::from_secs(seconds) {
            events += 1;
            self.crowd.event();
            if events % CLIENT_EVERY == 0 {
                self.client_comes_and_goes();
            }
            if events % RATE == 0 {
                memory.push((began.elapsed().as_secs(), resident_kib()));
            }
            if events % RESTART_EVERY == 0 {
                self = self.restarted();
            }
            pause();
        }
        let (what, restarts) = (&self.crowd.events, self.restarts);
        say(&format!("{events} events, {restarts} restarts in {:?}: {what:?}", began.elapsed()));
        if seconds >= COMPARED_FROM {
            does_not_grow(&memory);
        }
        self
    }

    fn client_comes_and_goes(&self) {
        let breakwater = controller("breakwater", &[]);
        let config = ChannelConfig::new(self.server.address().clone());
        let client = Client::connect_with(config, &breakwater).expect("a client starts");
        let options = CallOptions { deadline: Duration::from_secs(60), ..CallOptions::default() };
        let echo = || {
            let answer = client.call_with(service::ECHO, "", options).wait();
            assert!(answer.is_ok(), "a client's call ended in {answer:?}");
        };
        echo();
        drop(client.call_with(service::HANG, "", options));
        echo();
    }

    /// Every client stays and reads until the server says goodbye; then all come back.
    fn restarted(mut self) -> Self {
        self.restarts += 1;
        let listen = self.server.address().clone();
        let old = self.server;
        let draining = std::thread::spawn(move || old.drain(Duration::from_secs(600)));
        while !draining.is_finished() {
            self.crowd.settle(true);
            pause();
        }
        let left = draining.join().expect("a drain does not panic");
        assert_eq!(left.unanswered, 0, "requests that a drain has left");
        self.crowd.settle(true);
        assert_eq!(self.crowd.present(), 0, "clients that heard nothing of the drain");
        assert_eq!(self.handlers.live(), 0, "handlers that outlived their server");
        self.server = started(&self.handlers, listen, self.restarts);
        self.crowd.gather();
        self
    }

    /// The answers that are still due come; then all leave, and the server is as it was.
    fn end(mut self) {
        for _ in 0..60_000 {
            self.crowd.settle(false);
            if self.crowd.awaits() == 0 {
                break;
            }
            pause();
        }
        assert_eq!(self.crowd.awaits(), 0, "answers that were promised and did not come");
        self.crowd.disperse();
        eventually("no session is left", || self.server.gauges().sessions == 0);
        eventually("all credits are back", || self.server.gauges().issued == 0);
        eventually("all handlers have ended", || self.handlers.live() == 0);
        let empty = service::held_by(placement(self.restarts), self.before);
        eventually(&format!("the server holds what it held at first: {empty:?}"), || {
            Held::now() == empty
        });
    }
}

fn started(handlers: &Handlers, listen: Address, number: u32) -> Server {
    handlers.start(listen, placement(number))
}

/// Every other server has workers.
const fn placement(number: u32) -> Placement {
    if number % 2 == 1 { Placement::Workers(2) } else { Placement::Inline }
}

/// For the server: this thread alone would take a core.
fn pause() {
    std::thread::park_timeout(Duration::from_millis(1));
}

/// The most of the last minute against the most of the first.
fn does_not_grow(memory: &[(u64, u64)]) {
    let last = memory.last().map_or(0, |(second, _)| *second);
    let most = |from: u64, to: u64| {
        let within = memory.iter().filter(|(second, _)| (from..=to).contains(second));
        within.map(|(_, kib)| *kib).max().expect("a reading for each second")
    };
    let (first, last) = (most(0, 60), most(last - 60, last));
    say(&format!("resident: {first} KiB at most in the first minute, {last} in the last"));
    assert!(last <= first + first / 10, "{last} KiB in the last minute, {first} in the first");
}

#[expect(clippy::print_stderr, reason = "whoever repeats a run needs its seed")]
fn say(words: &str) {
    eprintln!("{words}");
}
