//! Router as a service in three tiers of scenario files: a mid-tier that places keys on leaves, and leaves that are
//! tailwater's own key-value stores over its protocol, or stock memcacheds.
//!
//! It has the placement and the choice of the proxy for memcached, and its rule for replicas that may differ. Before memcacheds
//! it has the proxy's back end, too (`memcacheds`), or is the proxy itself, where clients speak memcached's protocol (`front`).
//! Before stores it has another one: [`midtier`] writes to all replicas of a key and reads from one; `replicas` says which of them
//! may be asked, and `refill` gives one that was emptied what others hold.
//! `agreement` compares what replicas hold after a run, and `gets` which of them have answered. [`leaf`] is a store. [`wire`] is the
//! bytes of the mid-tier's methods, and `life` those of a leaf's. [`keys`] is what is asked for, and [`application`] all of it for
//! scenario files.

pub mod wire;
mod life;
pub mod keys;
pub mod leaf;
mod replicas;
mod refill;
pub mod midtier;
mod memcacheds;
mod front;
mod agreement;
mod gets;
pub mod application;

pub use replicas::Upheavals;
