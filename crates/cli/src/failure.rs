//! What went wrong, for people: one line on standard error and an exit code.

use std::process::ExitCode;
use tailwater_program::{explain, print};

/// As verbs fail.
pub(crate) use tailwater_program::failure::Failure;

/// Tells what a verb has failed of, and gives the program's exit code.
pub(crate) fn report(failure: &Failure) -> ExitCode {
    // The terminal that it would be shown on may be what is gone.
    complain(&failure.to_string());
    ExitCode::from(failure.code())
}

/// A line on standard error, where the other may be a program's own, or what a pipe reads. It may be closed, which changes nothing.
pub(crate) fn tell(text: &str) {
    explain(text);
}

/// The same of what goes on, or ends nothing.
pub(crate) fn complain(why: &str) {
    tell(&format!("tailwater: {why}"));
}

/// Prints to standard output. Where nothing reads that any more (`| head`), nothing is printed, and the verb goes on: its files
/// and its exit code are what they would have been.
pub(crate) fn say(text: &str) -> Result<(), Failure> {
    print(text).map_err(Failure::work)
}
