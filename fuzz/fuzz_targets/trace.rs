//! Any bytes, read as a profiler's trace and analysed.

#![no_main]

#[path = "../../crates/profile/tests/check/mod.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check::trace(bytes);
});
