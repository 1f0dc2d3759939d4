//! Router of µSuite (Sriraman's thesis, §2.2.2): a proxy for memcached's protocol that keeps each key on several
//! memcacheds, with fail-over.
//!
//! Start with [`Router`]: stock clients speak to it, and it speaks to stock memcacheds. [`spooky`] hashes keys,
//! [`placement`] finds the nodes of a hash, [`choice`] chooses among these, and [`nodes`] has one connection to each.
//! [`oracle`] says which answers can be. [`tiers`] is the same as a service of scenario files, over stores of tailwater's
//! own. `docs/router.md` is about use, and about what is promised when nodes die.

#![forbid(unsafe_code)]

pub mod spooky;
pub mod placement;
pub mod choice;
mod standing;
mod parts;
pub mod nodes;
mod front;
pub mod oracle;
pub mod tiers;

pub use front::{FrontConfig, Router, StartError};
