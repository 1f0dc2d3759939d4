//! A child's standard error, kept for a failure.

use crate::failure::Failure;
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::process::Stdio;

/// So much of the end is read. A line of an error is shorter.
const READ_MAX: u64 = 4 << 10;

/// It lies in memory: a full disk is among what is complained of.
pub(crate) struct Complaints(File);

impl Complaints {
    pub(crate) fn new() -> Result<Self, Failure> {
        let memory = memfd_create("complaints", MemfdFlags::CLOEXEC).map_err(Failure::work)?;
        Ok(Self(memory.into()))
    }

    /// The same open file, so that what several processes write stands one behind the other.
    pub(crate) fn end(&self) -> Result<Stdio, Failure> {
        self.0.try_clone().map(Stdio::from).map_err(Failure::work)
    }

    /// How much there is.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.metadata().map_or(0, |about| about.len())
    }

    /// The end of them.
    pub(crate) fn text(&self) -> String {
        let length = self.bytes();
        let from = length.saturating_sub(READ_MAX);
        let mut bytes = vec![0; (length - from) as usize];
        // A line that cannot be read is missing from an error, and nothing else.
        if self.0.read_exact_at(&mut bytes, from).is_err() {
            return String::new();
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The last lines, without this program's name before them.
    pub(crate) fn lines(&self) -> Vec<String> {
        lines_of(&self.text())
    }
}

/// Without what the runtime says of every panic, and without notes of ours, which are no cause of a failure.
fn lines_of(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| line.strip_prefix("tailwater: ").unwrap_or(line));
    let lines = lines.filter(|line| !line.trim().is_empty() && !line.starts_with("note: "));
    lines.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn lines_are_those_of_an_error_or_of_a_panic() {
        assert!(lines_of("").is_empty());
        let error = "tailwater: warning: x\n\ntailwater: no core 9\ntailwater: note: y\n";
        assert_eq!(lines_of(error), ["warning: x", "no core 9"]);
        let panic = "thread 'main' panicked at a.rs:1:2:\nout of bounds\nnote: run with `RUST_BACKTRACE=1`\n";
        assert_eq!(lines_of(panic).last().map(String::as_str), Some("out of bounds"));
    }

    #[test]
    fn of_a_flood_the_end_is_read_and_all_is_counted() {
        let mut kept = Complaints::new().unwrap();
        for number in 0..10_000 {
            writeln!(kept.0, "line {number}").unwrap();
        }
        assert!(kept.bytes() > 80_000 && kept.text().len() as u64 <= READ_MAX);
        assert_eq!(kept.lines().pop().as_deref(), Some("line 9999"));
    }
}
