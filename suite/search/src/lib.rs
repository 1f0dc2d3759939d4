//! A search server that is bound by locks, in the manner of the Lucene of Protego's evaluation (Cho et al., NSDI '23,
//! §5.2). It is an inverted index in segments, each under its own lock. For each term it has the scores of the
//! documents that hold it, under a lock of theirs.
//!
//! The kernel: [`tokens`](tailwater_data::text::tokens) makes terms of text, [`Index::build`] an index, and [`Index::search`] finds
//! the best documents for a [`Query`] by [`bm25`]. [`text`](tailwater_data::text) has texts: WordNet's glosses, your own, or
//! generated ones.
//!
//! Around it: [`wire`] is the method's bytes, [`service`] the handler, [`workload`] the queries with the answers that they
//! must get. `prepared` is what all processes open, [`application`] all of it for scenario files. `docs/search.md` shows
//! what the locks change.

#![forbid(unsafe_code)]

pub mod query;
pub mod bm25;
mod top;
mod varint;
mod lists;
mod segment;
mod scores;
mod index;

pub mod wire;
pub mod workload;
mod prepared;
pub mod service;
pub mod application;

pub use index::{Index, Memory, SEGMENTS_MAX, Store};
pub use query::{Mode, Query, QueryError};
pub use top::Hit;
