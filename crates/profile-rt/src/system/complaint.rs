//! What the recorder tells people: on the program's standard error, as long as its number names that.

use rustix::fs::fstat;
use std::sync::OnceLock;

/// The file that standard error was when the runtime was loaded. A daemon closes that, and the number may be one of its
/// data's when the recorder has something to say: 20 ms after a fork, or when the program exits.
static FIRST: OnceLock<Option<(u64, u64)>> = OnceLock::new();

/// Notes what standard error is.
pub(crate) fn remember() {
    let _ = FIRST.get_or_init(file);
}

#[expect(clippy::print_stderr, reason = "there is nobody else to tell")]
pub(crate) fn complain(what: &str) {
    if *FIRST.get_or_init(file) == file() {
        eprintln!("tailwater: {what}");
    }
}

fn file() -> Option<(u64, u64)> {
    let found = fstat(std::io::stderr()).ok()?;
    Some((found.st_dev, found.st_ino))
}
