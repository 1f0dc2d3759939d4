//! Overload controllers as pure state machines.
//!
//! A controller has two halves. At the server, [`Admission`] is shared by all loops and hands each of them a
//! [`Shard`]. A shard owns the sessions of its loop's connections; the two halves of a server meet only in a handful
//! of atomics. At the client, [`Client`] queues calls and
//! asks a [`Gate`] whether the next may be sent. Facts enter by `on_*(now, …)`, verdicts are
//! returned, wishes leave by `poll_*`, and `next_deadline` says when to call back.
//!
//! [`retry`] decides where a call goes among replicas and whether it is tried again.
//!
//! Start with [`catalog::Spec`], which turns a name, a profile and overrides into a controller. This
//! crate knows no clock, socket or thread: the simulator, the runtime and the tests run the same code.

#![forbid(unsafe_code)]

pub mod asqm;
pub mod breakwater;
pub mod catalog;
pub mod client;
pub mod codel;
mod config_error;
pub mod dagor;
mod ewma;
mod family;
pub mod gradient;
pub mod guard;
pub mod none;
pub mod retry;
pub mod seda;
pub mod server;
mod site;
mod stamps;
pub mod window;

pub use client::{Action, Call, Client, ClientConfig, Dispatch, DropReason, Gate, Reply};
pub use config_error::ConfigError;
pub use retry::{Replicas, RetryConfig};
pub use server::{
    Admission, Arrival, Echo, Gauges, Offer, Outcome, Reached, Reason, RequestEnd, Shard, Verdict,
    Wish, is_older,
};
pub use site::Site;
pub use stamps::Stamps;
