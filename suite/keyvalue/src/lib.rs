//! A key-value server in the manner of memcached, whose locks know how long a request may wait.
//!
//! Start with [`store::Store`]: one kernel for budgeted and plain locks, of threads and of tasks
//! ([`locks`]). It has two fronts: [`memcached`]'s text protocol for stock clients, which the program
//! `tailwater-keyvalue` serves, and tailwater's [`rpc`], which scenarios measure under the workloads USR
//! and VAR ([`workload`], [`application`]). `docs/key-value.md` says how it is used and what the budgets
//! changed.

#![forbid(unsafe_code)]

pub mod locks;
pub mod store;
pub mod memcached;
pub mod rpc;
pub mod workload;
pub mod application;
