//! Runtime of the profiler, linked or preloaded into the profiled program.
