//! What a small program does in the place of its own work, where it has started itself for that: it guards another, or becomes
//! another. Its `main` asks [`played`] first. No first word of its own may be `guard` or `bound`.

use crate::bound::end_with;
use crate::failure::Failure;
use crate::guard::guard;
use std::env::{args_os, current_exe};
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

const GUARD: &str = "guard";
const BOUND: &str = "bound";

/// The program of this file as guard of another with its arguments, for [`Guarded`](crate::guarded::Guarded).
#[must_use]
pub fn guarding(own: &Path, words: &[OsString]) -> Command {
    let mut command = Command::new(own);
    command.arg(GUARD).args(words);
    command
}

/// The program of this file as what becomes another with its arguments, and ends with this thread.
#[must_use]
pub fn bound(own: &Path, words: &[OsString]) -> Command {
    let mut command = Command::new(own);
    command.arg(BOUND).arg(std::process::id().to_string()).args(words);
    command
}

/// What came of it, where this process was started for one of both; `None` where its own work is to be done.
#[must_use]
pub fn played() -> Option<Result<(), Failure>> {
    let mut words = args_os().skip(1);
    match words.next()?.to_str() {
        Some(GUARD) => Some(stand(&words.collect::<Vec<_>>())),
        Some(BOUND) => Some(replace(words)),
        _ => None,
    }
}

fn stand(words: &[OsString]) -> Result<(), Failure> {
    let own = current_exe().map_err(Failure::work)?;
    let program = words.first().ok_or_else(|| Failure::usage("a program to guard is needed"))?;
    // So that it ends with a guard that is killed, too, unless it has become another user.
    guard(&program.to_string_lossy(), &mut bound(&own, words))
}

/// Returns only when the program cannot be started.
fn replace(mut words: impl Iterator<Item = OsString>) -> Result<(), Failure> {
    let parent = words.next().and_then(|word| word.to_str()?.parse::<i32>().ok());
    let (Some(parent), Some(program)) = (parent, words.next()) else {
        return Err(Failure::usage("the parent's process number and a program are needed"));
    };
    end_with(parent)?;
    let error = Command::new(&program).args(words).exec();
    Err(Failure::work(format!("{}: {error}", program.display())))
}
