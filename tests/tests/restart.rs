//! A server that goes away and comes back under load: every call ends exactly once.

use std::time::Duration;
use tailwater_core::MethodId;
use tailwater_rt::client::{Caller, Channel, ChannelConfig, End, NewCall};
use tailwater_rt::poll::Poller;
use tailwater_rt::time::now;
use tailwater_rt::{Address, Drained, ServerConfig};
use tailwater_tests::{ECHO, Port, Served, controller};

/// A client that keeps some calls going and notes how each ends.
struct Steady {
    channel: Channel,
    poller: Poller,
    ends: Vec<u8>,
    answered: u64,
    failed: u64,
    /// Of the failed, those that had been sent when the connection was lost.
    lost: u64,
}

const KEPT_GOING: usize = 32;

impl Steady {
    fn new(served: &Served) -> Self {
        let config = ChannelConfig {
            backoff_max: Duration::from_millis(20),
            ..ChannelConfig::new(served.address().clone())
        };
        Self {
            channel: Channel::new(config, 1, served.controller.client(1)),
            poller: Poller::new().expect("a poller"),
            ends: Vec::new(),
            answered: 0,
            failed: 0,
            lost: 0,
        }
    }

    fn turn(&mut self, submits: bool) {
        let time = now();
        while submits && self.channel.unfinished() < KEPT_GOING {
            let token = self.ends.len() as u64;
            self.ends.push(0);
            let call = NewCall {
                method: MethodId(ECHO),
                payload: token.to_le_bytes().to_vec().into(),
                deadline: None,
                priority: 128,
                tenant: 0,
                caller: Caller::NONE,
            };
            self.channel.submit(time, token, call);
        }
        self.channel.drive(time, &self.poller);
        self.note();
        let mut ready = Vec::new();
        self.poller.wait(Some(Duration::from_millis(1)), &mut ready);
        let mut scratch = [0; 16 << 10];
        for readiness in ready {
            self.channel.on_ready(now(), &self.poller, readiness, &mut scratch);
        }
        self.note();
    }

    fn note(&mut self) {
        while let Some(event) = self.channel.poll_event() {
            self.lost += u64::from(event.end == End::Lost);
            if let End::Response { payload, .. } = event.end {
                assert_eq!(payload, event.token.to_le_bytes(), "another's answer");
                self.answered += 1;
            } else {
                self.failed += 1;
            }
            self.ends[usize::try_from(event.token).expect("small")] += 1;
        }
    }

    /// Goes on until so many more calls are answered.
    fn until_answered(&mut self, more: u64) {
        let wanted = self.answered + more;
        for _ in 0..100_000 {
            if self.answered >= wanted {
                return;
            }
            self.turn(true);
        }
        panic!("{} of {wanted} calls were answered", self.answered);
    }
}

fn restart_under_load(controller_name: &str, gracefully: bool) {
    let make = || controller(controller_name, &[("expiry", "never")]);
    let port = Port::keep();
    let listen = Address::Tcp(port.address());
    let config = ServerConfig { listen, ..ServerConfig::default() };
    let mut served = Served::start(config.clone(), make());
    let mut steady = Steady::new(&served);
    for _ in 0..5 {
        steady.until_answered(500);
        let Served { server, .. } = served;
        let stopping = std::thread::spawn(move || {
            if gracefully {
                let drained = server.drain(Duration::from_secs(10));
                assert_eq!(drained, Drained::default(), "all was answered and read");
            }
        });
        while !stopping.is_finished() {
            steady.turn(true);
        }
        assert!(stopping.join().is_ok());
        served = Served::start(config.clone(), make());
    }
    steady.until_answered(500);
    for _ in 0..100_000 {
        if steady.channel.unfinished() == 0 {
            break;
        }
        steady.turn(false);
    }
    let wrong = steady.ends.iter().position(|&ends| ends != 1);
    assert_eq!(wrong, None, "a call that ended not exactly once");
    assert_eq!(steady.answered + steady.failed, steady.ends.len() as u64);
    let most = 5 * KEPT_GOING as u64;
    assert!(steady.lost <= most, "{} lost; {most} at most were on their way", steady.lost);
}

#[test]
fn a_crash_under_load_ends_each_call_once_and_loses_only_what_was_on_its_way() {
    restart_under_load("none", false);
    restart_under_load("breakwater", false);
}

#[test]
fn a_drain_under_load_ends_each_call_once() {
    restart_under_load("none", true);
    restart_under_load("breakwater", true);
}
