//! Profiler traces: what the scanner writes and what people read from it.
//!
//! [`trace`] turns [`record`]s to bytes and back. [`functions`] and [`requests`] read a trace once
//! or twice, front to back, in bounded memory, and give models that serialise to JSON. [`diff`] judges which functions moved from
//! one build's traces to another's. Nothing here prints or opens a file.

#![forbid(unsafe_code)]

pub mod record;
pub mod trace;
pub mod clock;
pub mod counted;
pub mod names;
pub mod glob;
pub mod quality;
pub mod functions;
pub mod requests;
pub mod tiers;
pub mod retention;
pub mod slowest;
pub mod stacks;
pub mod breakdown;
pub mod history;
pub mod calls;
pub mod kernel;
pub mod lines;
pub mod sampled;
pub mod blocks;
pub mod diff;
mod above;
mod paths;
mod spans;
mod hash;
