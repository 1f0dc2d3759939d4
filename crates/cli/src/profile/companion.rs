//! Files that lie beside a trace, and tell more of the same recording.

use super::reading::Trace;
use crate::failure::complain;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use tailwater_profile::record::Clock;
use tailwater_profile::trace::{Header, KERNEL_ENDING, LINES_ENDING};

/// How far the clock of the day may stray from the raw one between two readings that are meant to be of one time...
const STRAY_MAX_NS: u64 = 1_000_000_000;
/// ...and for each such part of the time between: NTP slews by 1 in 2,000 at most (`adjtimex(2)`).
const STRAY_PART: u64 = 1_000;

/// A file beside a trace.
#[derive(Clone, Copy)]
pub(crate) enum Companion {
    /// What the kernel did.
    Kernel,
    /// At which addresses threads were.
    Lines,
}

impl Companion {
    /// All of them.
    pub(super) const ALL: [Self; 2] = [Self::Kernel, Self::Lines];

    /// Where it lies.
    pub(super) fn file(self, trace: &Path) -> PathBuf {
        let mut name = OsString::from(trace);
        name.push(match self {
            Self::Kernel => KERNEL_ENDING,
            Self::Lines => LINES_ENDING,
        });
        PathBuf::from(name)
    }

    /// That of the recording that a trace is of, if there is one; that of a child (`TRACE.4711`) is its parent's.
    pub(crate) fn open(self, trace: &Path, header: &Header) -> Option<Trace> {
        let mut found = self.candidates(trace, header).filter_map(|file| readable(&file));
        found.find(|companion| is_of(companion.header().clock, header.clock))
    }

    /// Whether a file is there that [`Companion::open`] may take.
    pub(super) fn may_be_there(self, trace: &Path, header: &Header) -> bool {
        self.candidates(trace, header).any(|file| file.exists())
    }

    fn candidates(self, trace: &Path, header: &Header) -> impl Iterator<Item = PathBuf> {
        let is_child = trace.extension().is_some_and(|end| *end == *header.pid.to_string());
        let parent = is_child.then(|| self.file(&trace.with_extension("")));
        std::iter::once(self.file(trace)).chain(parent)
    }
}

/// The file, if it is there. One that cannot be read is told of: without a word its recording would seem to have had none.
fn readable(file: &Path) -> Option<Trace> {
    let opened = Trace::open(file);
    if let (Err(failure), true) = (&opened, file.exists()) {
        complain(&format!("{failure}; what it has is left out"));
    }
    opened.ok()
}

/// Whether a companion that began at the one time may be of a trace that began at the other: it began before, and in the
/// same life of the machine. `CLOCK_MONOTONIC_RAW` begins anew with each.
fn is_of(companion: Clock, trace: Clock) -> bool {
    let both = |clock: Clock| (clock.real_ns, clock.raw_ns);
    companion.raw_ns <= trace.raw_ns && are_of_one_life(both(companion), both(trace))
}

/// Whether the clock of the day and the raw one, read together at two times, may be of one life of one machine.
pub(super) fn are_of_one_life(one: (u64, u64), other: (u64, u64)) -> bool {
    let booted = |(real_ns, raw_ns): (u64, u64)| i128::from(real_ns) - i128::from(raw_ns);
    let strayed = booted(one).abs_diff(booted(other));
    strayed <= u128::from(STRAY_MAX_NS.saturating_add(one.1.abs_diff(other.1) / STRAY_PART))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_file_of_another_life_of_the_machine_is_not_taken() {
        let clock = |raw_ns: u64, booted: u64| Clock { ticks: 0, raw_ns, real_ns: booted + raw_ns };
        let hour = 3_600_000 * MS;
        let booted = 500_000 * hour;
        let trace = clock(2 * hour, booted);
        assert!(is_of(clock(2 * hour - MS, booted), trace), "it began just before");
        assert!(is_of(clock(hour, booted - 2_000 * MS), trace), "the clock was slewed meanwhile");
        assert!(!is_of(clock(2 * hour + 1, booted), trace), "it began later");
        assert!(!is_of(clock(hour, booted - 9 * hour), trace), "the machine was started since");
        assert!(!is_of(clock(2 * hour - MS, booted - 3_000 * MS), trace));
    }

    #[test]
    fn a_companion_lies_beside_its_trace() {
        assert_eq!(
            Companion::Kernel.file(Path::new("out/x.trace")),
            Path::new("out/x.trace.kernel")
        );
        assert_eq!(Path::new("x.trace.4711").with_extension(""), Path::new("x.trace"));
    }
}
