//! Recommend, a service of µSuite in three tiers (Sriraman's thesis, §2.2.4): predicts what a user would rate an item,
//! from what users like this one rated.
//!
//! Start with [`model`]: what the ratings teach. [`profiles`] are the mid-tier's part of it, a [`shard`] is a leaf's.
//! [`ratings`] are the known cells of the utility matrix, from a file or generated; [`factors`] of it make users comparable
//! ([`similarity`]); [`neighbours`] are the most alike. [`average`](mod@average) is the thesis' way to shard, as a mode, and
//! [`baseline`] what has to be beaten. [`evaluate`] says how good predictions are. All these are pure.
//!
//! Around them: [`queries`] are what clients ask, [`oracle`] finds the answers by plain code, [`wire`] is the
//! methods' bytes. [`leaf`], [`midtier`] and [`service`] are the tiers; [`prepared`] is what all processes open;
//! [`application`] is all of it for scenario files. `docs/recommend.md` is about use and results.

#![forbid(unsafe_code)]

pub mod ratings;
pub mod factors;
pub mod baseline;
pub mod similarity;
pub mod neighbours;
mod rule;
pub mod model;
pub mod profiles;
pub mod shard;
pub mod average;
pub mod evaluate;

pub mod queries;
pub mod oracle;
pub mod wire;
pub mod leaf;
pub mod midtier;
pub mod service;
pub mod prepared;
pub mod application;
