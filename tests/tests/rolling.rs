//! Two replicas that are restarted in turn under load: each call is carried out once and answered,
//! because what a draining server has not begun is made at the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering::SeqCst};
use std::time::Duration;
use tailwater_control::RetryConfig;
use tailwater_control::retry::First;
use tailwater_core::Ratio;
use tailwater_rt::client::{CallOptions, ChannelConfig, Client};
use tailwater_rt::{Address, Placement, Reply, Request, Server, ServerConfig};
use tailwater_tests::{Port, controller, eventually};

const RESTARTS: usize = 10;
const CLIENTS: u32 = 8;
const CALLS_EACH: u32 = 4;
/// Calls whose beginnings are counted; the load ends with the last of them.
const COUNTED: usize = 1 << 22;

/// How often the handler of each call was begun, at whatever replica.
#[derive(Clone)]
struct Begun(Arc<[AtomicU8]>);

impl Begun {
    fn times(&self, call: u32) -> u8 {
        self.0[call as usize].load(SeqCst)
    }
}

/// A replica: some answers come at once, others while a drain may already be under way.
fn start(listen: Address, placement: Placement, name: &str, begun: &Begun) -> Server {
    let begun = begun.clone();
    let service = move |request: Request| {
        let call = request.payload.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
        let call = call.expect("the test's calls have a number");
        begun.0[call as usize].fetch_add(1, SeqCst);
        async move {
            if call.is_multiple_of(4) {
                tailwater_rt::time::sleep(Duration::from_millis(1)).await;
            }
            Reply::ok(request.payload)
        }
    };
    let config = ServerConfig { listen, model: placement.into(), ..ServerConfig::default() };
    let admission = controller(name, &[("expiry", "never")]).admission;
    Server::start(config, admission, service).expect("the replica starts")
}

fn client_of(addresses: &[Address], name: &str) -> Client {
    let config = |address: &Address| ChannelConfig {
        backoff_max: Duration::from_millis(20),
        ..ChannelConfig::new(address.clone())
    };
    // No call is refused for want of a token: what is tried again here was not begun.
    let retry = RetryConfig {
        tries: 32,
        credit_wait: None,
        share: Ratio(1.0),
        burst: 10_000,
        first: First::LeastLoaded,
    };
    let servers = addresses.iter().map(config).collect();
    let controller = controller(name, &[("expiry", "never")]);
    Client::replicas(servers, &controller, retry).expect("a client starts")
}

/// What all callers share.
struct Load {
    begun: Begun,
    next: AtomicU32,
    stop: AtomicBool,
}

impl Load {
    /// Calls one after the other; how each that failed did, and whether it had been begun.
    fn call(&self, client: &Client) -> Vec<String> {
        let options = CallOptions { deadline: Duration::from_secs(120), ..CallOptions::default() };
        let mut failed = Vec::new();
        while !self.stop.load(SeqCst) {
            let call = self.next.fetch_add(1, SeqCst);
            if call as usize >= COUNTED {
                break;
            }
            let answer = client.call_with(1, call.to_le_bytes(), options).wait();
            let begun = self.begun.times(call);
            match answer {
                Ok(answer) => {
                    assert_eq!(answer.payload, call.to_le_bytes(), "another's answer");
                    if begun != 1 {
                        failed.push(format!("answered, and begun {begun} times"));
                    }
                }
                Err(error) => failed.push(format!("{error:?}, begun {begun} times")),
            }
        }
        failed
    }
}

/// Restarts the replicas in turn, each once all clients are back at the other.
fn restart(mut replicas: [Server; 2], fresh: impl Fn(Address) -> Server) -> [Server; 2] {
    for round in 0..RESTARTS {
        for server in &replicas {
            eventually("all clients are there, and call", || {
                let totals = server.totals();
                totals.accepted >= u64::from(CLIENTS) && totals.served >= 500
            });
        }
        let [first, second] = replicas;
        let (old, other) = if round % 2 == 0 { (first, second) } else { (second, first) };
        let listen = old.address().clone();
        let left = old.drain(Duration::from_secs(120));
        assert_eq!(left.unanswered, 0, "requests that a drain has left");
        let new = fresh(listen);
        replicas = if round % 2 == 0 { [new, other] } else { [other, new] };
    }
    replicas
}

fn rolling_restart(placement: Placement, name: &str) {
    let begun = Begun((0..COUNTED).map(|_| AtomicU8::new(0)).collect());
    let fresh = |listen| start(listen, placement, name, &begun);
    let ports = [Port::keep(), Port::keep()];
    let replicas = ports.each_ref().map(|port| fresh(Address::Tcp(port.address())));
    let addresses = [replicas[0].address().clone(), replicas[1].address().clone()];
    let load = Load { begun: begun.clone(), next: AtomicU32::new(0), stop: AtomicBool::new(false) };
    let failed: Vec<String> = std::thread::scope(|scope| {
        let load = &load;
        let clients = (0..CLIENTS).map(|_| client_of(&addresses, name));
        let callers = clients.flat_map(|client| {
            (0..CALLS_EACH).map(move |_| {
                let client = client.clone();
                scope.spawn(move || load.call(&client))
            })
        });
        let callers: Vec<_> = callers.collect();
        let restarting = scope.spawn(|| restart(replicas, fresh));
        let restarted = restarting.join();
        load.stop.store(true, SeqCst);
        let failed = callers.into_iter().flat_map(|caller| caller.join().expect("no panic"));
        let failed = failed.collect();
        drop(restarted.expect("the restarts come to an end"));
        failed
    });
    let calls = load.next.load(SeqCst);
    let some = &failed[..failed.len().min(10)];
    assert!(failed.is_empty(), "{placement}, {name}: {} of {calls} calls: {some:?}", failed.len());
}

#[test]
fn a_rolling_restart_loses_no_call() {
    for name in ["none", "breakwater"] {
        rolling_restart(Placement::Inline, name);
    }
}

#[test]
fn a_rolling_restart_with_workers_loses_no_call() {
    rolling_restart(Placement::Workers(2), "none");
}
