//! `tailwater tune undo`: puts back what a tune has left that was killed.

use super::machine::{self, Restored, Root};
use crate::failure::{Failure, say};
use clap::Args;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct UndoOptions {
    /// The folder below which /sys, /proc and /run lie.
    #[arg(long, value_name = "DIR", default_value = "/")]
    root: PathBuf,
}

pub(super) fn undo(options: &UndoOptions) -> Result<(), Failure> {
    let (restored, damage) = machine::undo(&Root::new(&options.root)?)?;
    let Restored { done, kept, mut failed, elsewhere } = restored;
    failed.extend(elsewhere);
    let lines: Vec<&str> = done.iter().chain(&kept).map(String::as_str).collect();
    if !lines.is_empty() {
        say(&lines.join("\n"))?;
    } else if damage.is_none() && failed.is_empty() {
        say("Nothing is left to put back.")?;
    }
    match (damage, failed.is_empty()) {
        (Some(damage), _) => Err(Failure::work(damage)),
        (None, false) => Err(Failure::work(failed.join("; "))),
        (None, true) => Ok(()),
    }
}
