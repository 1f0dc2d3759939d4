//! Programs that begin with knobs of their process set, and end with what starts them.

use crate::failure::Failure;
use std::process::Command;

/// This program, as what runs `words` in its place once knobs of the process are set: they end with the process that
/// starts them.
pub(crate) fn bound_to_this(knobs: &[String], words: &[String]) -> Result<Command, Failure> {
    let myself = std::env::current_exe()
        .map_err(|error| Failure::work(format!("cannot find my own program: {error}")))?;
    let mut command = Command::new(myself);
    command.args(["tune", "exec", "--parent", &std::process::id().to_string()]);
    for knob in knobs {
        command.args(["--knob", knob]);
    }
    command.arg("--").args(words);
    Ok(command)
}
