//! Router as a service in three tiers of scenario files: a mid-tier that places keys on leaves, and leaves that are
//! tailwater's own key-value stores over its protocol.
//!
//! It has the placement and the choice of the proxy for memcached, and another back end. [`midtier`] writes to all
//! replicas of a key and reads from one; [`leaf`] is a store; [`wire`] is the bytes of the mid-tier's methods.
//! [`register`] is the oracle, and [`application`] all of it for scenario files.

pub mod wire;
pub mod leaf;
pub mod midtier;
mod stale;
pub mod register;
pub mod application;
