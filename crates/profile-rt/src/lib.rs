//! Runtime of the profiler, linked or preloaded into the profiled program.
//!
//! Instrumented code pushes frames on a shadow stack of its thread (`abi`); the stacks lie in shared
//! memory (`arena`). A scanner looks at them from outside the threads (`scan` thinks, `scanner`
//! looks), waits and requests come through rings (`event`, `ring`), and `output` writes all of it to
//! a trace. C programs use `include/tailwater/profile.h`, Rust programs [`request`].
//!
//! Rules for unsafe code here:
//!
//! 1. Shared memory is reached through `arena::Arena` only, as atomics: any value may be read at any
//!    time, and none is trusted.
//! 2. A field has one writer at a time; the structs in `arena` say who.
//! 3. What may run in a signal handler or inside an allocator (the slow path, the end of a thread)
//!    neither allocates nor blocks.

pub mod request;
mod abi;
mod arena;
mod register;
mod stacks;
mod maps;
mod unwind;
mod forked;
mod child;
mod event;
mod ring;
mod waits;
mod scan;
mod scanner;
mod survivors;
mod output;
mod names;
mod unload;
mod filter;
mod settings;
mod clock;
mod calibrate;
mod complaint;
mod threads;
mod session;
mod trace_file;
mod shim;
mod exports;
mod slow;
