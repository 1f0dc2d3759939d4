//! The servers, each as its users would write it: one thread, pinned, that answers an echo and sleeps
//! while there is nothing to do.

use crate::certificates::Certificates;
use crate::grpc::Echo;
use crate::host;
use crate::peer::Peer;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::time::Duration;
use tailwater_control::Site;
use tailwater_control::catalog::Spec;
use tailwater_rt::net::tls::{Clients, Identity, TlsServer};
use tailwater_rt::{Address, Reply, Request, Server, ServerConfig};
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Identity as TonicIdentity, Server as Tonic, ServerTlsConfig};

/// What to serve, and where.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct ServeArgs {
    #[arg(long)]
    peer: Peer,
    /// Core to run on.
    #[arg(long)]
    core: usize,
    /// Folder of the certificates.
    #[arg(long)]
    certificates: PathBuf,
}

/// Serves until standard input ends, which it does when the experiment does.
pub(crate) fn main(args: &ServeArgs) -> Result<(), String> {
    host::pin(args.core)?;
    let certificates = Certificates::read(&args.certificates)?;
    let certificates = args.peer.speaks_tls().then_some(certificates);
    if args.peer.is_tailwater() {
        return tailwater(args.core, certificates.as_ref());
    }
    std::thread::spawn(|| {
        until_stdin_ends();
        std::process::exit(0);
    });
    tonic(certificates.as_ref())
}

fn until_stdin_ends() {
    // An error is an end, too.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}

/// The line that the experiment waits for.
fn announce(port: u16) -> Result<(), String> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{port}")
        .and_then(|()| out.flush())
        .map_err(|error| format!("nobody reads our standard output: {error}"))
}

fn tailwater(core: usize, certificates: Option<&Certificates>) -> Result<(), String> {
    let tls = certificates.map(|pem| {
        let identity = Identity::from_pem(pem.chain.as_bytes(), pem.key.as_bytes())?;
        TlsServer::new(identity, Clients::Anonymous)
    });
    let tls = tls.transpose().map_err(|error| error.to_string())?;
    let config = ServerConfig { cores: vec![core], tls, ..ServerConfig::default() };
    let controller = Spec::named("none")
        .build(&Site::one_loop(Duration::from_secs(1), 0))
        .map_err(|error| error.to_string())?;
    let echo = |request: Request| async move { Reply::ok(request.payload) };
    let server = Server::start(config, controller.admission.clone(), echo)
        .map_err(|error| error.to_string())?;
    if let Address::Tcp(address) = server.address() {
        announce(address.port())?;
    }
    until_stdin_ends();
    Ok(())
}

fn tonic(certificates: Option<&Certificates>) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start tokio: {error}"))?;
    runtime.block_on(async {
        let cannot = |error| format!("cannot listen: {error}");
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.map_err(cannot)?;
        announce(listener.local_addr().map_err(cannot)?.port())?;
        let mut builder = Tonic::builder();
        if let Some(pem) = certificates {
            let identity = TonicIdentity::from_pem(&pem.chain, &pem.key);
            builder = builder
                .tls_config(ServerTlsConfig::new().identity(identity))
                .map_err(|error| format!("tonic refuses the certificate: {error}"))?;
        }
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
        let serving = builder.add_service(Echo).serve_with_incoming(incoming);
        serving.await.map_err(|error| format!("tonic stopped: {error}"))
    })
}
