//! What is prepared once, before any process starts: vectors, the index, the true neighbours of queries, and the answers that
//! these must get. Four files: another index needs no new vectors, other probes need no new index, and what serves needs no
//! truth.

mod answers;
mod index;
mod plan;
mod truth;
mod vectors;

pub use answers::Answers;
pub use index::{Chosen, Made};
pub use plan::Plan;
