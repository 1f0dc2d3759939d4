//! Overload control and honest tail latency for RPC services: the paved path.
//!
//! A server is a handler and a controller that knows its objective; a client queues what the server
//! has no room for and expires what would come too late. `examples/server.rs` and
//! `examples/client.rs` are whole programs in under forty lines each.
//!
//! ```
//! use std::time::Duration;
//! use tailwater::{Client, Reply, Request, Server, ServerConfig, breakwater};
//!
//! let controller = breakwater(Duration::from_micros(400));
//! let shout = |request: Request| async move { Reply::ok(request.payload.to_ascii_uppercase()) };
//! let server = Server::start(ServerConfig::default(), controller.admission.clone(), shout)?;
//!
//! let client = Client::connect(server.address().clone())?;
//! assert_eq!(client.call(1, "hello").wait()?.payload, b"HELLO");
//! server.drain(Duration::from_secs(1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What is not here is one crate further: `tailwater-control` for controllers of your own,
//! `tailwater-wire` for the bytes, `tailwater-rt` for everything about sockets.

#![forbid(unsafe_code)]

pub use tailwater_control::Reason;
pub use tailwater_control::catalog::{Controller, Spec, SpecError};
pub use tailwater_control::guard::Mode;
pub use tailwater_rt::client::{Answer, CallError, CallFuture, CallOptions, ChannelConfig, Client};
pub use tailwater_rt::service::status;
pub use tailwater_rt::time::sleep;
pub use tailwater_rt::{
    Address, Placement, Reception, Reply, Request, Router, Server, ServerConfig, Service,
    StartError, Totals,
};

use std::time::Duration;

/// Breakwater in its default profile for an objective of `slo`, for a server of one loop. For more
/// loops or other settings build a [`Spec`].
///
/// # Panics
/// When `slo` is zero: there is no delay to steer to.
#[must_use]
pub fn breakwater(slo: Duration) -> Controller {
    Spec::named("breakwater")
        .build(slo, 1, 0)
        .expect("the default profile suits every objective above zero")
}
