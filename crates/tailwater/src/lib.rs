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
//! let drained = server.drain(Duration::from_secs(1));
//! assert_eq!(drained.unanswered, 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Where several servers do the same, [`Client::replicas`] keeps a connection to each. It tries a call that one
//! refuses at another, within its deadline and a budget ([`RetryConfig`]).
//!
//! ```
//! use std::time::Duration;
//! use tailwater::{ChannelConfig, Client, Ratio, Reply, Request, RetryConfig, Server, ServerConfig};
//!
//! // Two tries for an objective of 400 µs: each server steers to half of it.
//! let controllers = [0, 1].map(|_| tailwater::breakwater(Duration::from_micros(200)));
//! let echo = |request: Request| async move { Reply::ok(request.payload) };
//! let start = |it: &tailwater::Controller| {
//!     Server::start(ServerConfig::default(), it.admission.clone(), echo)
//! };
//! let servers = [start(&controllers[0])?, start(&controllers[1])?];
//!
//! let ends = servers.iter().map(|server| ChannelConfig::new(server.address().clone())).collect();
//! let retry = RetryConfig { share: Ratio(0.2), ..RetryConfig::default() };
//! let client = Client::replicas(ends, &controllers[0], retry)?;
//! assert_eq!(client.call(1, "hello").wait()?.payload, b"hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A handler that needs other servers names them as a tier and awaits a [`Fan`] of calls, which waits in the
//! handler's own loop; `examples/middle.rs` is a whole program.
//!
//! A thread that serves thousands of queues finds those with work by a [`ready`] set; `examples/select.rs` waits for
//! ten thousand channels.
//!
//! What is not here is one crate further: `tailwater-control` for controllers of your own,
//! `tailwater-wire` for the bytes, `tailwater-rt` for everything about sockets.

#![forbid(unsafe_code)]

pub use bytes::Bytes;
pub use tailwater_control::asqm::{Asqm, Policy};
pub use tailwater_control::catalog::{Controller, Spec, SpecError};
pub use tailwater_control::guard::{Mode, Switch};
pub use tailwater_control::retry::{
    First, HedgeAfter, HedgeConfig, HedgeCounts, REPLICAS_MAX, RetryConfig,
};
pub use tailwater_control::{Admission, Gauges, Reason, Shard, Site};
pub use tailwater_core::words::WordError;
pub use tailwater_core::{Event, Instant, MethodId, Observer, Ratio, SessionId, Silent};
pub use tailwater_rt::client::{
    Answer, CallError, CallFuture, CallOptions, ChannelConfig, Client, Fault,
};
pub use tailwater_rt::counts::TierCounts;
pub use tailwater_rt::cpu::PinError;
pub use tailwater_rt::downstream::{Fan, Tier, TierConfig, tier};
#[cfg(feature = "tls")]
pub use tailwater_rt::net::tls;
pub use tailwater_rt::time::{now, sleep, yield_now};
pub use tailwater_rt::{
    Address, AddressError, Completion, ConfigError, Drained, Introspection, KeepAlive, ListenError,
    LockRules, Model, Peer, PeerRef, Placement, Reception, Remaining, Reply, Request, Router,
    Server, ServerConfig, Service, SocketRules, StartError, Tenants, Totals,
};
pub use tailwater_sync::{Refused, ready};

use std::time::Duration;

/// Breakwater in its default profile for an objective of `slo`, for a server of one loop. For more
/// loops or other settings build a [`Spec`].
///
/// # Panics
/// When `slo` is zero: there is no delay to steer to.
#[must_use]
pub fn breakwater(slo: Duration) -> Controller {
    Spec::named(tailwater_control::breakwater::NAME)
        .build(&Site::one_loop(slo, 0))
        .expect("the default profile suits every objective above zero")
}
