//! `tailwater profile top`: the slowest functions of a running program, over and over.

use super::recorder::{Outcome, Post, run};
use super::{command, failed, refused};
use crate::failure::{Failure, say};
use crate::profile::build;
use crate::profile::record::Scanning;
use crate::profile::report::{ReportOptions, Shown, report};
use crate::reader;
use crate::unforeseen;
use crate::values::duration;
use clap::Args;
use std::fs::DirBuilder;
use std::io::IsTerminal as _;
use std::os::unix::fs::DirBuilderExt as _;
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

/// A folder of our own for the trace of a table. It goes with all that came to lie in it.
struct Fleeting {
    folder: PathBuf,
    trace: PathBuf,
}

impl Fleeting {
    fn new() -> Result<Self, Failure> {
        // What others could write to is not read.
        let made =
            unforeseen::at("tailwater-top", |path| DirBuilder::new().mode(0o700).create(path));
        let (folder, ()) = made.map_err(|error| {
            let temp = std::env::temp_dir();
            let temp = temp.display();
            Failure::work(format!("{temp}: {error}; name another folder: export TMPDIR=FOLDER"))
        })?;
        Ok(Self { trace: folder.join("top.trace"), folder })
    }
}

impl Drop for Fleeting {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Ends with the program, or when a signal asks for it.
pub(crate) fn top(options: &TopOptions) -> Result<(), Failure> {
    if !options.scanning.counters().is_empty() {
        let instead = "`tailwater profile attach --counters`, then `report --counters`";
        return Err(Failure::usage(format!("--counters: top shows no counts; type {instead}")));
    }
    let program = build::recorder()?;
    let post = Post::open()?;
    loop {
        let fleeting = Fleeting::new()?;
        let trace = &fleeting.trace;
        let mut command = command(&program, options.pid, trace, &options.scanning);
        let outcome = run(&mut command, Some(options.every), &post, |_| {})?;
        if outcome.begun.is_none() {
            return Err(refused(options.pid, &outcome));
        }
        if outcome.is_signalled {
            return Ok(());
        }
        show(trace, options, &outcome)?;
        let is_over = options.once || outcome.over.as_deref() != Some("asked");
        if is_over || reader::has_gone() {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_table_s_folder_is_ours_alone_and_goes_with_what_is_in_it() {
        let [first, second] = [(); 2].map(|()| Fleeting::new().expect("a folder"));
        assert_ne!(first.folder, second.folder);
        let mode = first.folder.metadata().expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        for name in ["top.trace", "top.trace.7"] {
            std::fs::write(first.folder.join(name), "x").expect("room");
        }
        let folder = first.folder.clone();
        drop(first);
        assert!(!folder.exists());
    }
}
