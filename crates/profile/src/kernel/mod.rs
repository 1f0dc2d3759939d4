//! What the kernel did with threads, from a file that `tailwater profile record --kernel` writes beside a trace.
//!
//! The file is a trace whose ticks are nanoseconds of `CLOCK_MONOTONIC_RAW`. [`Accounts`] says of given times of given
//! threads where they went, and [`Wakers`] in which functions those were that ended their sleeps. [`CoreWaits`] tell of many
//! more times how long a core was waited for. [`Lanes`] tell what every thread did when, and [`Running`] how long threads had
//! a core until a time.

mod gaps;
mod account;
mod known;
mod tally;
mod accounts;
mod core_waits;
mod wakers;
mod lanes;
mod running;

pub use crate::record::{
    After, Did, Interrupting, Interruption, OCCUPANTS_MAX, Occupant, ThreadState, WaitedBehind,
    Waker,
};
pub use account::{Account, Behind, Cause, HadBy, Interrupts, Sleeps, Stretch, Woken};
pub use accounts::{Accounts, Coverage};
pub use core_waits::{CoreWait, CoreWaits};
pub use lanes::{KernelSpan, Lanes, LanesReport};
pub use running::{Running, RunningTimes};
pub use wakers::Wakers;
