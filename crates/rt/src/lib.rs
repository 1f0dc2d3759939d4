//! RPC runtime: a server whose loops hold their SLO under overload, and the client that belongs to it.
//!
//! Start with [`Server::start`] and [`client::Client`]; [`service::Service`] is what a handler is.
//! On the server a request walks in three steps, all on the loop that owns its connection:
//!
//! 1. `server::intake` and `server::arrival`: bytes to frames to verdicts;
//! 2. `server::run_queue`, `server::running` and `server::runner`: the last word, then its handler;
//! 3. `server::ending` and `server::egress`: its answer, on which the client's window rides.
//!
//! Drivers of their own (the load generator) use [`client::Channel`] on a [`poll::Poller`].
//!
//! Unsafe code is allowed here by ARCHITECTURE.md, and not needed so far: the kernel is reached
//! through `rustix`.

#![forbid(unsafe_code)]

mod bell;
pub mod client;
pub mod config;
mod counters;
pub mod counts;
pub mod cpu;
pub mod downstream;
mod executor;
mod framing;
mod handover;
#[cfg(all(test, loom))]
mod models;
pub mod net;
pub mod poll;
mod primitive;
pub mod server;
pub mod service;
mod staff;
mod clock;
pub mod time;
mod timers;

pub use config::{
    Completion, Introspection, LockRules, Model, Placement, Reception, ServerConfig, Tenants,
};
pub use counters::Totals;
pub use net::{Address, AddressError, KeepAlive, ListenError, Peer, PeerRef, SocketRules};
pub use server::{Drained, Remaining, Server, StartError};
pub use service::{Reply, Request, Router, Service};
pub use tailwater_control::ConfigError;
