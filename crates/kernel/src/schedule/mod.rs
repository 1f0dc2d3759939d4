//! Which threads ran, which waited for a core behind which, which slept and what ended it: from events alone.
//!
//! [`Machine`] is the start. [`Waits`] makes histograms of its facts, [`Account`] sums of some threads in a window.

mod fact;
mod behind;
mod cores;
mod machine;
mod waits;
mod account;
#[cfg(test)]
mod simulated;

pub use account::{Account, Softirqs, Times};
pub use behind::{Behind, OCCUPANTS_MAX, Occupant};
pub use fact::{After, Fact, Interrupting, Interruption, Interval, State, Waker};
pub use machine::{Machine, THREADS_MAX, Totals};
pub use waits::{WaitQuantiles, Waits};
