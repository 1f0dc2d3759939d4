//! What is prepared once, before any process starts: vectors with their true neighbours, the index, and the answers
//! that queries must get. Three files: another index needs no new vectors, and other probes no new index.

mod answers;
mod index;
mod plan;
mod vectors;

pub use answers::Answers;
pub use index::{Chosen, Made};
pub use plan::Plan;
