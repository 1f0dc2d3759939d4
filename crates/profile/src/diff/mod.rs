//! Which functions' calls take another time in recordings of another build.
//!
//! Each trace is read twice. First readings make the [`Side`]s, of which [`Chosen`] says what is compared. Second readings
//! give the functions' [`blocks`](crate::blocks). From these [`compare()`] makes the [`Verdict`], and
//! [`Verdict::outcome`] says what it comes to.

mod side;
mod chosen;
mod verdict;
mod laws;
mod compare;

pub use chosen::Chosen;
pub use compare::compare;
pub use side::{Recording, Side, UNITS_MIN, can_be_compared};
pub use verdict::{Asked, CallsWithin, Change, Moved, Outcome, Quantile, Verdict};
