//! Any bytes, read as what a client and as what a server sent.

#![no_main]

#[path = "../../crates/wire/tests/check/mod.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check::wire_frame(bytes);
});
