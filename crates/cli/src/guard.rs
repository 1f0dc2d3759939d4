//! `tailwater guard`: a program of others on some CPUs, which ends when nothing reads what this says any more.

use crate::bound::bound_to_this;
use crate::failure::Failure;
use clap::Args;
use std::process::Command;
use tailwater_program::guarded::Guarded;

#[derive(Args, Debug)]
pub(crate) struct GuardOptions {
    /// The CPUs that it may run on, as 0-1,3.
    #[arg(long, value_name = "CPUS")]
    cpus: Option<String>,
    /// The program and its arguments.
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

/// Says the program's process number, and stays until that or the reader is gone.
pub(crate) fn guard(options: &GuardOptions) -> Result<(), Failure> {
    let knobs: Vec<String> = options.cpus.iter().map(|cpus| format!("cpus={cpus}")).collect();
    let mut command = bound_to_this(&knobs, &options.command)?;
    tailwater_program::guard::guard(&options.command[0], &mut command)
}

/// Starts a program under guard, on this core or on those of the thread that calls.
pub(crate) fn guarded(words: &[String], core: Option<u32>) -> Result<Guarded, Failure> {
    let name = &words[0];
    let trouble = |error| Failure::work(format!("cannot start {name}: {error}"));
    let mut guard = Command::new(std::env::current_exe().map_err(trouble)?);
    guard.arg("guard");
    if let Some(core) = core {
        guard.args(["--cpus", &core.to_string()]);
    }
    Guarded::start(name, guard.arg("--").args(words))
}
