//! What every tailwater crate shares: time, units, identifiers, seeded chance, the observer, and what stops a panic
//! of foreign code; the words that people type for durations, threads, a generator's pace and locks; what is wrong with
//! their files.
//!
//! Start with [`Instant`]: all control code takes `now` as an argument, so that the simulator, the
//! runtime and the tests run the very same decisions. This crate never reads a clock, a socket, the
//! environment or ambient randomness.

#![forbid(unsafe_code)]

pub mod duration;
pub mod fnv;
pub mod ids;
pub mod locks;
pub mod observer;
pub mod pace;
pub mod panics;
pub mod problems;
pub mod rng;
pub mod threads;
pub mod time;
pub mod units;
pub mod words;

pub use ids::{Class, MethodId, RequestId, SessionId};
pub use observer::{Event, Observer, Silent};
pub use panics::{Panicked, caught};
pub use rng::Rng;
pub use time::{Instant, Nanos, Pause, Stamp};
pub use units::{Credits, Rate, Ratio};
