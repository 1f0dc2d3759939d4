//! `tailwater profile top`: the slowest functions of a running program, over and over.

use super::recorder::{Outcome, Post, run};
use super::{command, failed, refused};
use crate::failure::{Failure, say};
use crate::profile::build;
use crate::profile::record::{Scanning, duration};
use crate::profile::report::{ReportOptions, Shown, report};
use clap::Args;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Clears a terminal, and writes from its first line.
const CLEAR: &str = "\x1b[H\x1b[2J\x1b[3J";

#[derive(Args, Debug)]
pub(crate) struct TopOptions {
    /// The number of the process, as `pgrep NAME` finds it.
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pid: u32,
    /// How long each table is recorded for.
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration)]
    every: Duration,
    /// One table, and that is all.
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    shown: Shown,
    #[command(flatten)]
    scanning: Scanning,
}

/// A trace for the time of a table.
struct Fleeting(PathBuf);

impl Fleeting {
    fn new() -> Self {
        let name = format!("tailwater-top-{}.trace", std::process::id());
        let fleeting = Self(std::env::temp_dir().join(name));
        fleeting.remove();
        fleeting
    }

    fn remove(&self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Drop for Fleeting {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Ends with the program, or when a signal asks for it.
pub(crate) fn top(options: &TopOptions) -> Result<(), Failure> {
    let program = build::recorder()?;
    let post = Post::open()?;
    loop {
        let trace = Fleeting::new();
        let mut command = command(&program, options.pid, &trace.0, &options.scanning);
        let outcome = run(&mut command, Some(options.every), &post, |_| {})?;
        if outcome.begun.is_none() {
            return Err(refused(options.pid, &outcome));
        }
        if outcome.is_signalled {
            return Ok(());
        }
        show(&trace.0, options, &outcome)?;
        if options.once || outcome.over.as_deref() != Some("asked") {
            return Ok(());
        }
    }
}

fn show(trace: &Path, options: &TopOptions, outcome: &Outcome) -> Result<(), Failure> {
    if !outcome.status.success() {
        return Err(failed(trace, outcome));
    }
    if std::io::stdout().is_terminal() && !options.once {
        say(CLEAR)?;
    }
    report(&ReportOptions::of(trace, &options.shown))
}
