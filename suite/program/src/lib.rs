//! How the suite's small programs print and end; which signals programs note, and how what they start ends with them.
//!
//! [`interrupt`] notes signals. What a program starts ends with it, however that ends: the kernel ends it ([`bound`]), or a
//! process between ([`guard`]). [`stages`] has both for programs without verbs for it.

#![forbid(unsafe_code)]

pub mod failure;
pub mod interrupt;
pub mod group;
pub mod bound;
pub mod guard;
pub mod guarded;
pub mod stages;

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
    is_heard(text).map(drop)
}

/// Prints a line to standard output; false where nothing reads that any more.
///
/// # Errors
/// When standard output cannot be written.
pub fn is_heard(text: &str) -> Result<bool, String> {
    match writeln!(std::io::stdout(), "{text}") {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(format!("standard output: {error}")),
    }
}

/// Prints a line to standard error, which changes nothing where nobody reads it.
pub fn explain(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// The kernel's account of this process, for [`unignored`]; empty where it does not tell.
#[must_use]
pub fn status() -> String {
    std::fs::read_to_string("/proc/self/status").unwrap_or_default()
}

/// Of these signals those that the process does not ignore, by the kernel's account of it. What was ignored when the program
/// started, as under nohup, is to stay so. All, where the account does not tell.
#[must_use]
pub fn unignored(status: &str, signals: &[i32]) -> Vec<i32> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    // Bit n − 1 is signal n.
    signals.iter().copied().filter(|number| (ignored >> (number - 1)) & 1 == 0).collect()
}
