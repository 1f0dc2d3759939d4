//! The publications' figures: redrawn from simulation, and held against what their texts state.
//!
//! A figure is a file of `scenarios/paper/figures/`: its scenarios, its panels, and the claims of the text.
//! [`catalogue()`] reads and checks them all, [`Plan`] simulates, [`pictures()`] draws, [`Compared`] judges
//! by the one rule of [`tolerance`]. To add a figure: write its file and name it in `embedded.rs`.
//!
//! This crate prints nothing and writes no file. It starts threads: simulations are spread over cores.

#![forbid(unsafe_code)]

pub mod data;
mod claim;
mod catalogue;
mod check;
mod embedded;
mod error;

mod measure;
mod over_time;
mod quantity;
pub mod tolerance;

mod compare;
mod draw;
mod plan;
mod results;
mod spread;

pub use catalogue::{Unknown, catalogue, choose};
pub use compare::{Compared, Row};
pub use draw::{Drawing, pictures};
pub use error::{DataError, Fault};
pub use plan::Plan;
pub use results::Results;
pub use spread::spread;
