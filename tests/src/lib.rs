//! Helpers shared by the end-to-end tests: a server, an honest client beside every fault, and a raw
//! peer that says whatever a test wants said.

#![forbid(unsafe_code)]

mod bystander;
mod eventually;
mod peer;
mod port;

pub use bystander::Bystander;
pub use eventually::{eventually, found};
pub use peer::{Call, Heard, Peer, hello};
pub use port::Port;

use std::sync::Arc;
use std::time::Duration;
use tailwater_control::Site;
use tailwater_control::catalog::{Controller, Spec};
use tailwater_rt::client::{ChannelConfig, Client};
use tailwater_rt::{Address, Reply, Request, Router, Server, ServerConfig};

/// Answers with its arguments.
pub const ECHO: u16 = 1;
/// Waits until the test opens the [`Gate`], then answers with its arguments.
pub const WAIT: u16 = 2;
/// Answers with as many zeros as its arguments say, in four bytes.
pub const LARGE: u16 = 3;

/// The objective of the tests' controllers: so loose that a busy machine sheds nothing.
pub const SLO: Duration = Duration::from_secs(60);

/// A controller by name, with overrides.
///
/// # Panics
/// When the catalog does not know them.
#[must_use]
pub fn controller(name: &str, overrides: &[(&str, &str)]) -> Controller {
    let mut spec = Spec::named(name);
    let owned = overrides.iter().map(|(key, value)| ((*key).into(), (*value).into()));
    spec.overrides = owned.collect();
    spec.build(&Site::of_loops(SLO, 8, 1)).expect("the test's controller")
}

/// A server of [`ECHO`], [`WAIT`] and [`LARGE`].
pub struct Served {
    /// The server.
    pub server: Server,
    /// Its controller, for clients.
    pub controller: Controller,
    /// What [`WAIT`] waits for.
    pub gate: Arc<Gate>,
}

impl Served {
    /// Starts one.
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    pub fn start(config: ServerConfig, controller: Controller) -> Self {
        let gate = Arc::new(Gate::default());
        let router = router(&gate);
        let server = Server::start(config, controller.admission.clone(), router)
            .expect("the test's server starts");
        Self { server, controller, gate }
    }

    /// With the defaults and Breakwater.
    #[must_use]
    pub fn breakwater() -> Self {
        Self::start(ServerConfig::default(), controller("breakwater", &[]))
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> &Address {
        self.server.address()
    }

    /// A client that follows the rules.
    ///
    /// # Panics
    /// When the system is out of descriptors or threads.
    #[must_use]
    pub fn client(&self) -> Client {
        let config = ChannelConfig::new(self.address().clone());
        Client::connect_with(config, &self.controller).expect("a client starts")
    }

    /// A peer that has said nothing yet.
    #[must_use]
    pub fn peer(&self) -> Peer {
        Peer::connect(self.address())
    }

    /// A peer that was greeted. Where patience is short, the HELLO of a busy machine may come too late: then another tries.
    ///
    /// # Panics
    /// When a hundred come too late, or something else is heard.
    #[must_use]
    pub fn greeted(&self) -> Peer {
        let mut peers = (0..100).map(|_| self.peer());
        peers.find_map(|mut peer| peer.is_greeted().then_some(peer)).expect("one HELLO is in time")
    }
}

/// The service behind [`Served`].
#[must_use]
pub fn router(gate: &Arc<Gate>) -> Router {
    let gate = gate.clone();
    Router::new()
        .route(ECHO, |request: Request| async { Reply::ok(request.payload) })
        .route(WAIT, move |request: Request| {
            let gate = gate.clone();
            async move {
                gate.pass().await;
                Reply::ok(request.payload)
            }
        })
        .route(LARGE, |request: Request| async move {
            let asked = request.payload.first_chunk().copied().unwrap_or_default();
            Reply::ok(vec![0; u32::from_le_bytes(asked) as usize])
        })
}

/// Holds handlers back until it is opened, and counts those that wait in front of it.
#[derive(Default)]
pub struct Gate {
    open: std::sync::atomic::AtomicBool,
    waiting: std::sync::atomic::AtomicU32,
}

impl Gate {
    /// Lets everybody through from now on.
    pub fn open(&self) {
        self.open.store(true, std::sync::atomic::Ordering::SeqCst);
    }

    /// Handlers that wait, or have waited and went on meanwhile.
    #[must_use]
    pub fn arrived(&self) -> u32 {
        self.waiting.load(std::sync::atomic::Ordering::SeqCst)
    }

    async fn pass(&self) {
        self.waiting.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        while !self.open.load(std::sync::atomic::Ordering::SeqCst) {
            tailwater_rt::time::sleep(Duration::from_micros(200)).await;
        }
    }
}

/// Most memory that this process has had so far, in bytes. It never falls, so a test that measures
/// stands alone in its file.
///
/// # Panics
/// Elsewhere than on Linux.
#[must_use]
pub fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("this is Linux");
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1));
    let kib: usize = kib.and_then(|kib| kib.parse().ok()).expect("a number");
    kib << 10
}
