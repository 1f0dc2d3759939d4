//! Any text, read as a scenario file: a scenario or a message, never a panic.

#![no_main]

use tailwater_workload::Scenario;

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Err(error) = Scenario::parse("fuzzed", text) {
        assert!(
            !error.to_string().is_empty(),
            "an error says what was found"
        );
    }
});
