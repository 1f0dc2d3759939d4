//! Runtime of the profiler, linked or preloaded into the profiled program.
//!
//! Instrumented code pushes frames on a shadow stack of its thread; the stacks lie in shared memory (`memory`, `threads`).
//! A scanner looks at them from outside the threads (`look`), waits and requests come through rings, and `write` has all
//! of it in a trace. `entry` is how programs come in: C by `include/tailwater/profile.h`, Rust by
//! `tailwater-marks`, which calls the same functions, and [`control`].
//! Scanner and writer may be in another process: [`attach`].
//!
//! Rules for unsafe code here:
//!
//! 1. Shared memory is reached through `memory::arena::Arena` only, as atomics: any value may be read at any
//!    time, and none is trusted.
//! 2. A field has one writer at a time; the structs in `memory::arena` say who.
//! 3. What may run in a signal handler or inside an allocator (the slow path, the end of a thread)
//!    neither allocates nor blocks.

// A room uses those above it only.
mod memory;
mod system;
mod threads;
mod look;
mod write;
mod entry;

pub use entry::{attach, control};
