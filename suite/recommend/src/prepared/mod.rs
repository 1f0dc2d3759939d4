//! What is prepared once, before any process starts: what was learnt, the parts of mid-tier and leaves, and the answers
//! that queries must get. Three files: other leaves need nothing learnt again, and other queries no other parts.

mod answers;
mod learnt;
mod parts;
mod plan;

pub use answers::Answers;
pub use plan::{Plan, Sharding, Source};
