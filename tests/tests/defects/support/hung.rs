//! Handlers that never end, and how many there are.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use tailwater_control::catalog::Controller;
use tailwater_rt::{Reply, Server, ServerConfig};
use tailwater_tests::{Gate, Served, router};

/// Never answers. Whatever ends such a handler drops its future.
pub(crate) const HANG: u16 = 10;

/// Counts handlers of [`HANG`].
#[derive(Clone, Default)]
pub(crate) struct Hung {
    begun: Arc<AtomicU32>,
    live: Arc<AtomicU32>,
}

impl Hung {
    /// A server of the usual methods and of [`HANG`].
    pub(crate) fn start(config: ServerConfig, controller: Controller) -> (Served, Self) {
        let gate = Arc::new(Gate::default());
        let hung = Self::default();
        let own = hung.clone();
        let router = router(&gate).route(HANG, move |_| {
            let alive = own.enter();
            async move {
                let _alive = alive;
                std::future::pending::<Reply>().await
            }
        });
        let server = Server::start(config, controller.admission.clone(), router);
        let server = server.expect("the test's server starts");
        (Served { server, controller, gate }, hung)
    }

    /// Handlers that were started.
    pub(crate) fn begun(&self) -> u32 {
        self.begun.load(SeqCst)
    }

    /// Handlers whose future still exists.
    pub(crate) fn live(&self) -> u32 {
        self.live.load(SeqCst)
    }

    fn enter(&self) -> Alive {
        self.begun.fetch_add(1, SeqCst);
        self.live.fetch_add(1, SeqCst);
        Alive(self.live.clone())
    }
}

struct Alive(Arc<AtomicU32>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}
