//! How the small programs of the suite print and end.

#![forbid(unsafe_code)]

use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;

/// The exit code of a program that has done its work, or has failed for this reason, which is explained under its name.
#[must_use]
pub fn concluded(name: &str, done: Result<(), String>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            explain(&format!("{name}: {why}"));
            ExitCode::from(2)
        }
    }
}

/// Prints a line to standard output. Where nothing reads that any more (`| head`), nothing is printed, and the program goes on:
/// its files and its exit code are what they would have been.
///
/// # Errors
/// When standard output cannot be written.
pub fn print(text: &str) -> Result<(), String> {
    match writeln!(std::io::stdout(), "{text}") {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result.map_err(|error| format!("standard output: {error}")),
    }
}

/// Prints a line to standard error, which changes nothing where nobody reads it.
pub fn explain(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
