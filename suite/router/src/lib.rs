//! Router of µSuite (Sriraman's thesis, §2.2.2): a proxy for memcached's protocol that keeps each key on several
//! memcacheds, with fail-over.
//!
//! Start with [`Router`]: stock clients speak to it, and it speaks to stock memcacheds. [`spooky`] hashes keys,
//! [`placement`] finds the nodes of a hash, [`choice`] chooses among these, and [`nodes`] has one connection to each.
//! [`hedging`] says when a get is asked of a second one. [`oracle`] says which answers can be, and [`failover`] measures what a
//! node's death costs. [`tiers`] is the same as a service of scenario files, over stores of tailwater's own or memcacheds. [`caches`]
//! are memcacheds as a tier behind handlers. `docs/router.md` is about use, and about what is promised when nodes die.

#![forbid(unsafe_code)]

pub mod spooky;
pub mod placement;
pub mod choice;
pub mod hedging;
mod standing;
mod parts;
pub mod nodes;
mod front;
pub mod caches;
pub mod oracle;
pub mod failover;
pub mod tiers;

pub use front::{FrontConfig, Router, StartError};
