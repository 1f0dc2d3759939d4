//! A client of two servers: what one refuses, or has no credit for, the other answers, within limits.

use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tailwater_control::retry::{First, REPLICAS_MAX, RetryConfig};
use tailwater_control::{Reason, catalog::Controller};
use tailwater_core::Ratio;
use tailwater_rt::client::{CallError, CallOptions, ChannelConfig, Client};
use tailwater_rt::{Address, Reply, Request, Server, ServerConfig};
use tailwater_tests::{ECHO, Gate, Port, WAIT, controller, eventually, found, router};

/// Everybody's first is the first; retries cost nothing to speak of.
const GENEROUS: RetryConfig = RetryConfig {
    tries: 2,
    credit_wait: None,
    share: Ratio(1.0),
    burst: 100,
    first: First::Primary,
};

/// A server and how many requests its handler has seen.
struct Counted {
    server: Server,
    seen: Arc<AtomicU32>,
}

impl Counted {
    /// Answers after `work`, or refuses at a lock.
    fn start(control: &Controller, refuses: bool, work: Duration) -> Self {
        let seen = Arc::new(AtomicU32::new(0));
        let counter = seen.clone();
        let service = move |request: Request| {
            counter.fetch_add(1, Ordering::SeqCst);
            let began = tailwater_rt::time::now();
            while tailwater_rt::time::now().since(began) < work {
                std::hint::spin_loop();
            }
            let reply =
                if refuses { Reply::Shed(Reason::Lock) } else { Reply::ok(request.payload) };
            async move { reply }
        };
        let server = Server::start(ServerConfig::default(), control.admission.clone(), service)
            .expect("the test's server starts");
        Self { server, seen }
    }

    fn seen(&self) -> u32 {
        self.seen.load(Ordering::SeqCst)
    }
}

fn refusing() -> Counted {
    Counted::start(&none(), true, Duration::ZERO)
}

fn serving() -> Counted {
    Counted::start(&none(), false, Duration::ZERO)
}

fn none() -> Controller {
    controller("none", &[])
}

fn client_of(servers: &[&Address], control: &Controller, retry: RetryConfig) -> Client {
    let config = |address: &&Address| ChannelConfig::new((*address).clone());
    let servers = servers.iter().map(config).collect();
    Client::replicas(servers, control, retry).expect("a client starts")
}

/// Calls reach a replica only once it has said WELCOME; before that a shed has nowhere to go.
fn once_connected(client: &Client, both: [&Counted; 2]) {
    eventually("both replicas can be reached", || {
        let _ = client.call(ECHO, "knock").wait();
        both.iter().all(|replica| replica.seen() > 0)
    });
}

#[test]
fn what_one_replica_refuses_the_other_answers() {
    let (first, second) = (refusing(), serving());
    let addresses = [first.server.address(), second.server.address()];
    let client = client_of(&addresses, &none(), GENEROUS);
    once_connected(&client, [&first, &second]);
    let (before, behind) = (first.seen(), second.seen());
    for number in 0..50_u32 {
        let answer = client.call(ECHO, number.to_le_bytes()).wait().expect("it is answered");
        assert_eq!(answer.payload, number.to_le_bytes());
    }
    assert_eq!((first.seen() - before, second.seen() - behind), (50, 50), "each once at each");
}

#[test]
fn when_all_refuse_the_caller_hears_it_and_none_was_asked_twice() {
    let (first, second) = (refusing(), refusing());
    let addresses = [first.server.address(), second.server.address()];
    let client = client_of(&addresses, &none(), RetryConfig { tries: 5, ..GENEROUS });
    once_connected(&client, [&first, &second]);
    let (before, behind) = (first.seen(), second.seen());
    assert_eq!(client.call(ECHO, "").wait(), Err(CallError::Shed(Reason::Lock)));
    assert_eq!((first.seen() - before, second.seen() - behind), (1, 1));
}

#[test]
fn with_the_budget_spent_the_refusal_stands() {
    let (first, second) = (refusing(), serving());
    let addresses = [first.server.address(), second.server.address()];
    let retry = RetryConfig { share: Ratio(0.0), burst: 3, ..GENEROUS };
    let client = client_of(&addresses, &none(), retry);
    once_connected(&client, [&first, &second]);
    let behind = second.seen();
    let answers: Vec<bool> = (0..10).map(|_| client.call(ECHO, "").wait().is_ok()).collect();
    // One of three tokens may have been spent on knocking.
    let tokens = second.seen() - behind;
    assert!(matches!(tokens, 2 | 3), "{tokens}");
    let spent = |number| number < tokens;
    assert_eq!(answers, (0..10).map(spent).collect::<Vec<_>>());
    assert_eq!(client.call(ECHO, "").wait(), Err(CallError::Shed(Reason::Lock)));
}

#[test]
fn a_replica_that_takes_longer_than_what_is_left_is_not_asked() {
    let (first, second) = (refusing(), Counted::start(&none(), false, Duration::from_millis(200)));
    let addresses = [first.server.address(), second.server.address()];
    let client = client_of(&addresses, &none(), GENEROUS);
    once_connected(&client, [&first, &second]);
    let seen = second.seen();
    let options = CallOptions { deadline: Duration::from_millis(100), ..CallOptions::default() };
    for _ in 0..5 {
        let error = client.call_with(ECHO, "", options).wait().expect_err("nobody can serve it");
        assert!(matches!(error, CallError::Shed(Reason::Lock) | CallError::TimedOut), "{error}");
    }
    assert_eq!(second.seen(), seen);
}

#[test]
fn a_replica_that_nobody_reaches_is_passed_over() {
    let gone = Port::keep();
    let address = Address::Tcp(gone.address());
    let second = serving();
    let client = client_of(&[&address, second.server.address()], &none(), GENEROUS);
    for _ in 0..20 {
        assert!(client.call(ECHO, "hello").wait().is_ok());
    }
    assert_eq!(second.seen(), 20);
}

#[test]
fn a_replica_that_goes_away_loses_what_it_had_and_no_more() {
    let (first, second) = (serving(), serving());
    let addresses = [first.server.address(), second.server.address()];
    let client = client_of(&addresses, &none(), GENEROUS);
    assert!(client.call(ECHO, "").wait().is_ok());
    drop(first);
    let mut lost = 0;
    eventually("the other takes over", || match client.call(ECHO, "").wait() {
        Ok(_) => second.seen() > 0,
        Err(error) => {
            assert_eq!(error, CallError::Disconnected, "it may have been carried out");
            false
        }
    });
    for _ in 0..20 {
        lost += u32::from(client.call(ECHO, "").wait().is_err());
    }
    assert_eq!(lost, 0);
}

#[test]
fn who_finds_no_credit_at_one_replica_goes_to_the_other() {
    let breakwater = controller("breakwater", &[("expiry", "never")]);
    let gate = Arc::new(Gate::default());
    let busy = Server::start(ServerConfig::default(), breakwater.admission.clone(), router(&gate));
    let busy = busy.expect("the test's server starts");
    let control = controller("breakwater", &[("expiry", "never")]);
    let second = Counted::start(&control, false, Duration::ZERO);
    let wait = Some(Duration::from_millis(250));
    let retry = RetryConfig { credit_wait: wait, share: Ratio(0.0), burst: 0, ..GENEROUS };
    // The first takes the only credit of a client that is not known yet, and holds it. Until the client is connected there
    // is no credit either: on a busy machine that takes so long now and then that the first goes to the other, too.
    let (client, held) = found("the first is being served", || {
        let client = client_of(&[busy.address(), second.server.address()], &breakwater, retry);
        let (seen, held) = (second.seen(), client.call(WAIT, "first"));
        eventually("one of them has it", || gate.arrived() == 1 || second.seen() > seen);
        (gate.arrived() == 1).then_some((client, held))
    });
    let seen = second.seen();
    for number in 0..4_u32 {
        let answer = client.call(ECHO, number.to_le_bytes()).wait().expect("it is answered");
        assert_eq!(answer.payload, number.to_le_bytes());
    }
    assert_eq!(second.seen() - seen, 4, "without a token, since they had not been sent");
    gate.open();
    assert_eq!(held.wait().expect("it is answered").payload, b"first");
}

#[test]
fn a_client_needs_a_server_and_not_too_many() {
    let some = ChannelConfig::new(Address::Tcp(([127, 0, 0, 1], 1).into()));
    for servers in [Vec::new(), vec![some; REPLICAS_MAX + 1]] {
        let error = Client::replicas(servers, &none(), GENEROUS).err().expect("it is refused");
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    }
}
