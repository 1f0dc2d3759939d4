//! Recommend of µSuite (Sriraman's thesis, §2.2.4): predicts what a user would rate an item, from what users like
//! this one rated.
//!
//! Start with [`model`]: what the mid-tier holds, what a leaf holds, and how their answers merge. [`ratings`] are
//! the known cells of the utility matrix, from a file or generated; [`factors`] of it make users comparable
//! ([`similarity`]); [`neighbours`] are the most alike. [`average`] is the thesis' way to shard, to compare with,
//! and [`baseline`] what has to be beaten. [`queries`] are what clients ask, [`evaluate`] says how good predictions
//! are. `docs/recommend.md` is about use and results. Pure: no clock, no socket, no thread.

#![forbid(unsafe_code)]

pub mod ratings;
pub mod factors;
pub mod baseline;
pub mod similarity;
pub mod neighbours;
pub mod model;
pub mod average;
pub mod queries;
pub mod evaluate;
