//! A request that arrives beside a timer that is due.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use tailwater_core::Instant;
use tailwater_rt::time::{now, sleep};
use tailwater_rt::{Reply, Router, Server, ServerConfig};
use tailwater_tests::{Call, Heard, Peer, controller, eventually};

const SLEEP: u16 = 1;
const COMPUTE: u16 = 2;
const MARK: u16 = 3;

const NAP: Duration = Duration::from_millis(20);

#[derive(Default)]
struct Seen {
    /// When the sleeper's timer is due.
    due: OnceLock<Instant>,
    ended: Mutex<Vec<u16>>,
}

impl Seen {
    fn end(&self, method: u16) -> Reply {
        self.ended.lock().unwrap().push(method);
        Reply::ok(Vec::new())
    }
}

/// A handler that sleeps may hold a lock until its timer. So nothing is started at once, socket hot or not, beside a
/// timer that became due while the request before it computed. Nothing else holds the request back here: it is read
/// together with that one, finds nothing queued, and handlers have an hour for a turn.
#[test]
fn nothing_is_started_beside_a_timer_that_is_due() {
    let seen = Arc::new(Seen::default());
    let [sleeps, computes, marks] = [(); 3].map(|()| seen.clone());
    let router = Router::new()
        .route(SLEEP, move |_| {
            let seen = sleeps.clone();
            async move {
                let nap = sleep(NAP);
                let _ = seen.due.set(now() + NAP);
                nap.await;
                seen.end(SLEEP)
            }
        })
        .route(COMPUTE, move |_| {
            let seen = computes.clone();
            async move {
                let due = *seen.due.get().expect("the sleeper came before");
                while now() < due {
                    std::hint::spin_loop();
                }
                seen.end(COMPUTE)
            }
        })
        .route(MARK, move |_| {
            let seen = marks.clone();
            async move { seen.end(MARK) }
        });
    let config =
        ServerConfig { drain_every: Duration::from_secs(3_600), ..ServerConfig::default() };
    let server = Server::start(config, controller("none", &[]).admission, router).unwrap();
    let mut peer = Peer::connect(server.address());
    peer.greet();
    peer.call(&Call::new(1, SLEEP, b""));
    eventually("it sleeps", || seen.due.get().is_some());
    // In one write, so that one read finds both.
    peer.say(&[Call::new(2, COMPUTE, b"").bytes(), Call::new(3, MARK, b"").bytes()].concat());
    for _ in 0..3 {
        assert!(matches!(peer.hear(), Heard::Response(..)));
    }
    let ended = seen.ended.lock().unwrap().clone();
    let position = |method| ended.iter().position(|one| *one == method);
    assert!(position(SLEEP) < position(MARK), "{ended:?}");
}
