//! Which threads ran, which waited for a core behind which, which slept and what ended it: from events alone.
//!
//! [`Machine`] is the start. [`Waits`] makes histograms of its facts.

mod fact;
mod behind;
mod cores;
mod machine;
mod waits;
#[cfg(test)]
mod simulated;

pub use behind::{Behind, OCCUPANTS_MAX, Occupant};
pub use fact::{After, Fact, Interrupting, Interruption, Interval, State, Waker};
pub use machine::{Machine, THREADS_MAX};
pub use waits::{Spread, Waits};
