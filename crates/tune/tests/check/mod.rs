//! What must hold of any text that is read as a journal; shared with the fuzz target.

use tailwater_tune::journal::{ENTRIES_MAX, Journal};

/// Whether it is a journal.
pub(crate) fn journal(text: &str) -> bool {
    match Journal::parse(text) {
        Ok(journal) => {
            assert!(journal.entries.len() <= ENTRIES_MAX, "their number is bounded");
            journal.entries.iter().for_each(|entry| entry.check().expect("a file of a knob"));
            assert_eq!(Journal::parse(&journal.text()).as_ref(), Ok(&journal));
            true
        }
        Err(damaged) => {
            assert!(!damaged.to_string().is_empty(), "it says what is wrong");
            damaged.readable.iter().for_each(|entry| entry.check().expect("a file of a knob"));
            false
        }
    }
}
