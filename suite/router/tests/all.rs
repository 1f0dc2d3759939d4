//! The router: its hash, its protocol, and nodes that die.

mod common;
#[allow(unreachable_pub, reason = "it is shared by tests of several crates")]
#[path = "../../../tests/src/port.rs"]
mod port;

mod caches;
mod deaths;
mod failover;
mod memcached;
mod protocol;
mod spooky;
mod tiers;
