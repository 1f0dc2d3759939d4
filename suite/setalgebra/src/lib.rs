//! Set Algebra, a service of µSuite in three tiers (Sriraman and Wenisch, IISWC '18; thesis §2.2.3): which documents
//! hold all words of a query?
//!
//! A leaf has the posting lists of its shard of the documents, compressed in blocks with skips ([`lists`]), and
//! intersects them ([`intersect`]). The mid-tier asks all leaves and unites what they found ([`union`](mod@union)). The
//! commonest words, the stop list, are dropped when documents are indexed ([`index`]).
//!
//! Around the kernel: [`collection`] has documents as numbers, [`queries`] draws queries, [`oracle`] finds their
//! answers without an index. [`wire`] is the methods' bytes, [`leaf`] and [`midtier`] are the handlers, [`prepared`]
//! the files, and [`application`] all of it for scenario files. `docs/set-algebra.md` explains and measures.

#![forbid(unsafe_code)]

pub mod collection;
pub mod lists;
pub mod intersect;
pub mod index;
pub mod union;

pub mod queries;
pub mod oracle;
pub mod wire;
pub mod prepared;

pub mod leaf;
pub mod midtier;
mod inquiry;
pub mod application;
