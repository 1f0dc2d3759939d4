//! Deterministic simulator: the same controllers as in the runtime, in virtual time.
//!
//! One node with cores and queues, a network with delay, thousands of clients, and costs for every
//! message; a calendar instead of a clock. Start with [`run()`], which plays a scenario file, or with
//! [`simulate()`]: a [`World`], a [`Load`] and a controller give one run in the same result model as
//! a real one. A seed decides everything, to the
//! last byte of the output. Checkers run in every simulation: credits are conserved, honest clients
//! never exceed their windows, every request ends in exactly one fate.
//!
//! This crate never reads a clock, opens a socket or starts a thread.

#![forbid(unsafe_code)]

mod bench;
mod callers;
pub mod calendar;
mod clients;
mod control;
pub mod experiment;
mod fabric;
mod locks;
mod node;
pub mod paths;
pub mod simulate;
mod slab;
mod space;
mod task;
mod tiers;
mod topology;
pub mod trace;
pub mod world;

pub use calendar::Calendar;
pub use experiment::{Failure, capacity, run};
pub use locks::LockReport;
pub use paths::Paths;
pub use simulate::{Broken, simulate, simulate_tiers};
pub use trace::{Sample, Trace};
pub use world::{Costs, Intended, Link, Load, NodeSpec, TierSpec, World};
