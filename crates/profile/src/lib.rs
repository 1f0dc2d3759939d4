//! Profiler traces: what the scanner writes and what people read from it.

#![forbid(unsafe_code)]

pub mod record;
