//! Through tonic's channels, on a single-threaded tokio.

use super::{Outcome, Watch, payload};
use crate::grpc;
use crate::peer::Case;
use bytes::Bytes;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Instant;
use tokio::task::LocalSet;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};

pub(super) fn run(
    case: Case,
    port: u16,
    root: Option<&str>,
    watch: Watch,
) -> Result<Outcome, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start tokio: {error}"))?;
    let local = LocalSet::new();
    let watch = local.block_on(&runtime, drive(case, port, root, watch))?;
    watch.end()
}

async fn drive(case: Case, port: u16, root: Option<&str>, watch: Watch) -> Result<Watch, String> {
    let mut channels = Vec::new();
    for _ in 0..case.connections {
        channels.push(connect(port, root).await?);
    }
    let shared = Rc::new(Shared { watch: RefCell::new(watch), next: Cell::new(0) });
    shared.watch.borrow_mut().begin();
    let callers: Vec<_> = channels
        .into_iter()
        .flat_map(|channel| vec![channel; case.outstanding])
        .map(|channel| tokio::task::spawn_local(keep_calling(channel, shared.clone())))
        .collect();
    for caller in callers {
        caller.await.map_err(|error| error.to_string())??;
    }
    let shared = Rc::into_inner(shared).ok_or("a caller goes on")?;
    Ok(shared.watch.into_inner())
}

async fn connect(port: u16, root: Option<&str>) -> Result<Channel, String> {
    let scheme = if root.is_some() { "https" } else { "http" };
    let failed = |error| format!("cannot connect: {error:?}");
    let mut endpoint =
        Endpoint::from_shared(format!("{scheme}://127.0.0.1:{port}")).map_err(failed)?;
    if let Some(root) = root {
        let tls = ClientTlsConfig::new()
            .ca_certificate(Certificate::from_pem(root))
            .domain_name("localhost");
        endpoint = endpoint.tls_config(tls).map_err(failed)?;
    }
    endpoint.tcp_nodelay(true).connect().await.map_err(failed)
}

struct Shared {
    watch: RefCell<Watch>,
    next: Cell<u64>,
}

/// One call after the other until the window is over.
async fn keep_calling(channel: Channel, shared: Rc<Shared>) -> Result<(), String> {
    loop {
        let number = shared.next.replace(shared.next.get() + 1);
        let sent = Instant::now();
        let body = Bytes::copy_from_slice(&payload(number));
        let answer = grpc::call(channel.clone(), body).await?;
        if !shared.watch.borrow_mut().answered(sent, number, &answer)? {
            return Ok(());
        }
    }
}
