//! The load generator: sends a precomputed schedule, and records the fate of every intended request.
//!
//! Start with [`open::run`] for a schedule (open loop) and [`closed::run`] for capacity. A
//! [`fleet::Fleet`] is thousands of logical clients on one thread, each with a connection and
//! control state of its own. What they ask for, and what a server answers it with, is an
//! [`Application`]. Latency counts from the intended time; what the generator itself did
//! wrong (lateness, stalls, gaps that are not exponential) is reported beside every result.

#![forbid(unsafe_code)]

pub mod application;
pub mod open;
mod early_end;
mod alarm;
pub mod scheduling;
pub mod census;
pub mod tiers;
pub mod counts;
pub mod closed;
pub mod compare;
mod connections;
pub mod fleet;
pub mod foreign;
mod memory;
pub mod meter;
mod spinner;
pub mod work;
pub mod paths;

pub use application::Application;
pub use early_end::EarlyEnd;
pub use fleet::{Fleet, FleetError, ThreadClients};
pub use open::{Findings, OpenPlan};
pub use spinner::{Spinner, Throttle};
