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

    /// The last line, without this program's name before it.
    pub(crate) fn last(&self) -> String {
        let text = self.text();
        let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        last.strip_prefix("tailwater: ").unwrap_or(last).to_owned()
    }
}
