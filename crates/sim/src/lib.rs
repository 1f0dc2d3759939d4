//! Deterministic simulator: the same controllers as in the runtime, in virtual time.
//!
//! A front node with cores, queues and locks, the tiers that it calls, a network with delay, thousands
//! of clients, and costs for every message; a calendar instead of a clock. Start with [`run()`], which
//! plays a scenario file, or with [`simulate()`]: a [`World`], its requests and a controller give one run
//! in the same result model as a real one. A seed decides everything, to the last byte of the output.
//!
//! The front may have replicas, among which clients choose, and at which they try again what one refused.
//! Faults strike when the world says so ([`Fault`]): clients, their links, and nodes. The links between
//! nodes are spared.
//!
//! A node may have threads ([`Threads`]): loops, workers and a crew for calls. Their model changes while it serves
//! ([`Switch`]).
//!
//! Checkers run in every simulation ([`Rule`]): credits are conserved, honest clients never exceed their
//! windows, every request ends in exactly one fate; [`swarm`] draws worlds at random to find where they
//! do not.
//!
//! This crate never reads a clock, opens a socket or starts a thread.

#![forbid(unsafe_code)]

mod callers;
mod calendar;
mod checks;
mod clients;
mod connection;
mod control;
mod endpoint;
mod experiment;
mod fabric;
mod facts;
mod failure;
mod faults;
mod locks;
mod mechanics;
mod node;
mod paths;
mod referee;
mod simulate;
mod slab;
mod space;
mod standing;
pub mod swarm;
mod task;
mod threads;
mod tiers;
mod topology;
mod trace;
mod window;
mod world;

pub use checks::Rule;
pub use experiment::{Simulator, capacity, run, world_of};
pub use failure::Failure;
pub use locks::LockReport;
pub use paths::Paths;
pub use simulate::{Answers, Broken, closed_loop, simulate, simulate_with};
pub use tailwater_workload::scenario::{Chosen, Claim, Direction, Fault, FaultKind, Struck};
pub use threads::{Switch, Threads};
pub use trace::{Sample, Trace};
pub use world::{Costs, Intended, Link, NodeSpec, TierSpec, World};
