//! HDSearch, a service of µSuite in three tiers (Sriraman and Wenisch, IISWC '18; thesis §2.2.1): which points are
//! nearest to a query, in tens to thousands of dimensions?
//!
//! The mid-tier has an index ([`index`]) whose entries refer to leaves and lists of their points. It looks up which
//! points may be near ([`midtier`]), and sends each leaf the query and its list. A leaf has the vectors of its
//! points ([`leaf`], [`placement`]); it computes the distances, and returns the nearest. The mid-tier merges
//! ([`nearest`](mod@nearest)).
//!
//! Around the kernel: [`vectors`] has points and queries, generated, of WordNet, or from GloVe's text; [`oracle`] finds answers by
//! plain code, [`questions`] keeps them, and [`check`] says what is wrong with another; [`quality`] measures
//! recall; [`frontier`] tries settings; [`wire`] is the methods' bytes and [`service`] the handlers; [`prepared`] is what
//! all processes open, and [`application`] all of it for scenario files.
//! `docs/hdsearch.md` explains and measures.

#![forbid(unsafe_code)]

mod chance;
mod parts;
pub mod nearest;
pub mod placement;
pub mod vectors;

pub mod index;
pub mod wire;
pub mod leaf;
pub mod midtier;
pub mod service;

pub mod oracle;
pub mod check;
pub mod quality;
pub mod questions;
pub mod frontier;

pub mod prepared;
mod inquiry;
pub mod application;
