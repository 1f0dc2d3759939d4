//! What is prepared once, before any process starts: the index of each leaf, and the queries with their answers.

mod plan;
mod questions;

pub use plan::{Plan, TEXT};
pub use questions::Questions;
