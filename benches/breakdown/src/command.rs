//! Other programs: run to their end, with what they said.

use crate::Result;
use std::process::{Command, Stdio};

/// Standard output of a command that must end well; what it said goes into the error.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let done = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("could not start {}: {error}", shown(command)))?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    let last: Vec<&str> = said.lines().rev().take(8).collect();
    let last: Vec<&str> = last.into_iter().rev().collect();
    Err(format!("{} ended with {}:\n{}", shown(command), done.status, last.join("\n")))
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
