//! What the operating system did to some threads, from the kernel's tracepoints.
//!
//! Start with [`Probe`]: it says which events can be had here, and of each other one what is missing and what to type.
//! A [`Recorder`] then hands out [`Event`]s of all processors in order of time, and a [`schedule::Machine`] turns these
//! into [`schedule::Fact`]s: when each thread ran, waited for a core and behind which others, and slept and what woke it.
//! The machine is pure, as are all parts in [`schedule`]: they read no clock and no file. [`Syscalls`] counts the system
//! calls of a program or of some threads, and [`System`] what the whole machine counts. [`Throttling`] counts how often a CPU
//! quota stopped a program, and [`Sampling`] sees at which addresses its threads are. [`PerfScript`] reads the same events
//! from what `perf sched record` wrote. In a PID namespace of its own a process is told of threads by their numbers there.
//! Those outside have the host's and [`OUTSIDE`].
//!
//! Unsafe code is two calls in `ioctl.rs`, as the library that opens the events leaves them out, and two in `turns.rs`.

mod probe;
mod tracefs;
mod format;
mod event;
mod layout;
mod numbers;
mod ioctl;
mod processors;
mod ring;
mod visits;
mod open_files;
mod recorder;
mod perf;
mod syscalls;
mod system;
mod throttling;
mod counters;
mod first_touch;
mod sampling;
mod turns;

pub mod schedule;

pub use counters::has_counters;
pub use event::{Context, Event, Left, LocalInterrupt, Name, What};
pub use first_touch::first_touch_ns;
pub use numbers::OUTSIDE;
pub use perf::{PERF_RECORD, PERF_SCRIPT, PerfEvents, PerfScript};
pub use probe::{Missing, Probe, Source};
pub use recorder::{Losses, Recorder, now_ns};
pub use sampling::{Sample, Sampled, Sampling, SamplingClocks};
pub use syscalls::{FUTEX_WAITS, Syscalls};
pub use system::{System, softirq_name};
pub use throttling::Throttling;
