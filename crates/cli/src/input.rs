//! Texts that people name: a file, or `-` for standard input.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Whether standard input has been read, which a process can once. Nothing else is ordered by it.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The text of a file; `-` is standard input.
///
/// # Errors
/// Where it cannot be read, is no text, or is standard input for a second time.
pub(crate) fn text_of(file: &Path) -> io::Result<String> {
    if file != Path::new("-") {
        return std::fs::read_to_string(file);
    }
    if TAKEN.swap(true, Relaxed) {
        let why = "standard input was read already; give a file for one of the two";
        return Err(io::Error::other(why));
    }
    io::read_to_string(io::stdin())
}
