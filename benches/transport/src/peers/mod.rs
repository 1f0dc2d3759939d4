//! The servers to compare with, each as its users would write it: a single-threaded tokio runtime,
//! pinned, that answers an echo.

pub(crate) mod tarpc;
pub(crate) mod tonic;

use crate::{host, ready};
use std::net::SocketAddr;
use tokio::net::TcpListener;

/// Where a peer serves.
#[derive(clap::Args, Clone, Copy, Debug)]
pub(crate) struct PeerArgs {
    /// Address to listen on; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// Core to run on.
    #[arg(long, default_value_t = 0)]
    pub(crate) core: usize,
}

/// Runs `serve` on one pinned thread until killed.
pub(crate) fn run<F>(
    listen: SocketAddr,
    core: usize,
    serve: impl FnOnce(TcpListener) -> F,
) -> Result<(), String>
where
    F: Future<Output = Result<(), String>>,
{
    host::pin(core)?;
    host::raise_descriptor_limit();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start tokio: {error}"))?;
    runtime.block_on(async {
        let cannot = |error| format!("cannot listen on {listen}: {error}");
        let listener = TcpListener::bind(listen).await.map_err(cannot)?;
        ready::announce(listener.local_addr().map_err(cannot)?)?;
        serve(listener).await
    })
}
