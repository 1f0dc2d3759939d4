//! Any text, read as what a tune has left that was killed.

#![no_main]

#[path = "../../crates/tune/tests/check/mod.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|text: &str| {
    check::journal(text);
});
