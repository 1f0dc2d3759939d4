//! The server that is churned: short, napping, hanging and large answers, each counted while it lives.

use crate::system::Held;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering::SeqCst};
use std::time::Duration;
use tailwater_rt::{Address, Placement, Reply, Request, Router, Server, ServerConfig};
use tailwater_tests::controller;

/// Answers with its arguments.
pub(crate) const ECHO: u16 = 1;
/// Answers after some milliseconds.
pub(crate) const NAP: u16 = 2;
/// Never answers.
pub(crate) const HANG: u16 = 3;
/// Answers with more than a socket holds of a client that does not read.
pub(crate) const LARGE: u16 = 4;

/// Of each server.
const LOOPS: usize = 2;
/// The server's: short, so that what drips and what stalls is sent away within the test.
pub(crate) const PATIENCE: Duration = Duration::from_secs(3);
const LARGE_ANSWER: usize = 256 << 10;
/// Numbers of calls come round again after so many: far more than are under way at once.
const NUMBERS: usize = 1 << 18;

/// Which calls were begun, and how many handlers there are.
#[derive(Clone)]
pub(crate) struct Handlers {
    begun: Arc<[AtomicU8]>,
    live: Arc<AtomicU32>,
}

impl Handlers {
    pub(crate) fn new() -> Self {
        // Ones, so that the memory is there from the beginning.
        let begun = (0..NUMBERS).map(|_| AtomicU8::new(1)).collect();
        Self { begun, live: Arc::default() }
    }

    /// Handlers that have not ended.
    pub(crate) fn live(&self) -> u32 {
        self.live.load(SeqCst)
    }

    /// A call of this number is about to be made.
    pub(crate) fn forget(&self, number: u64) {
        self.slot(number).store(0, SeqCst);
    }

    /// How often its handler was begun.
    pub(crate) fn begun(&self, number: u64) -> u8 {
        self.slot(number).load(SeqCst)
    }

    fn slot(&self, number: u64) -> &AtomicU8 {
        &self.begun[number as usize % NUMBERS]
    }

    fn begin(&self, request: &Request) -> Alive {
        // The project's own clients make calls without a number.
        if let Some(bytes) = request.payload.first_chunk() {
            self.slot(u64::from_le_bytes(*bytes)).fetch_add(1, SeqCst);
        }
        self.live.fetch_add(1, SeqCst);
        Alive(self.live.clone())
    }

    fn router(&self) -> Router {
        let [echo, nap, hang, large] = [(); 4].map(|()| self.clone());
        Router::new()
            .route(ECHO, move |request: Request| {
                let alive = echo.begin(&request);
                async move {
                    let _alive = alive;
                    Reply::ok(request.payload)
                }
            })
            .route(NAP, move |request: Request| {
                let alive = nap.begin(&request);
                async move {
                    let _alive = alive;
                    let naps = u64::from(request.payload[0] % 32);
                    tailwater_rt::time::sleep(Duration::from_millis(naps)).await;
                    Reply::ok(request.payload)
                }
            })
            .route(HANG, move |request: Request| {
                let alive = hang.begin(&request);
                async move {
                    let _alive = alive;
                    std::future::pending::<Reply>().await
                }
            })
            .route(LARGE, move |request: Request| {
                let alive = large.begin(&request);
                async move {
                    let _alive = alive;
                    Reply::ok(vec![0; LARGE_ANSWER])
                }
            })
    }

    /// A server at this address.
    pub(crate) fn start(&self, listen: Address, placement: Placement) -> Server {
        let config = ServerConfig {
            listen,
            model: placement.into(),
            loops: LOOPS,
            patience: PATIENCE,
            ..ServerConfig::default()
        };
        let breakwater = controller("breakwater", &[]);
        Server::start(config, breakwater.admission, self.router()).expect("the server starts")
    }
}

/// What a process holds with such a server that has no clients, when it held this before. It is
/// reckoned, not read: a server's loops open theirs after it has started.
pub(crate) fn held_by(placement: Placement, before: Held) -> Held {
    let workers = if let Placement::Workers(count) = placement { count } else { 0 };
    // Each loop polls and has a bell; the listener keeps a descriptor in reserve.
    let descriptors = [("socket", 1), ("anon_inode", 2 * LOOPS), ("/dev/null", 1)];
    let threads =
        [("tailwater-loop-", LOOPS), ("tailwater-repor", 1), ("tailwater-work-", workers)];
    before.with(&descriptors, &threads)
}

struct Alive(Arc<AtomicU32>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}
