//! One experiment: a scenario file, whichever driver runs it.
//!
//! A [`Driver`] knows how to play one closed loop and one open run, over sockets or in virtual time. Everything that
//! decides what a number means is here and nowhere else:
//! - which capacity demand is quoted against ([`capacity`]), and what no controller can beat (`bound`);
//! - how long answers count ([`drain()`]);
//! - in which order runs take place and which are repeated ([`run()`]), how they are called ([`label`]), and which
//!   count (`validity`);
//! - whether most runs so far do not count (`spoiled`);
//! - which runs exceed the bound by more than chance explains, and why (`doubt`);
//! - how steps are laid over one another (`steps`), and what control costs (`costs`).
//!
//! Results of two drivers differ by what was measured, never by how it was reckoned.
//!
//! Start with [`run()`]. This crate reads no clock, opens nothing and prints nothing.

#![forbid(unsafe_code)]

mod driver;
mod run;
mod shard;
mod merge;
pub mod capacity;
mod bound;
mod doubt;
mod drain;
mod faults;
pub mod label;
mod validity;
mod spoiled;
mod steps;
mod costs;
mod order;
mod retry;

pub use doubt::long_objective;
pub use drain::drain;
pub use driver::{
    ClosedLoop, Cost, Driver, OpenRun, Piece, Played, Silence, TierCores, Watch, widest,
};
pub use faults::{changes, faults};
pub use label::check;
pub use merge::{MergeError, merge};
pub use retry::{hedge, retry, retry_of_tiers};
pub use run::{Unfinished, pieces, run, run_shard};
pub use shard::Shard;
pub use spoiled::Spoiled;
