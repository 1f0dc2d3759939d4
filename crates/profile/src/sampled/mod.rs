//! Where threads were at single moments: addresses, which a program's file turns into lines.

mod samples;

pub use samples::{Moment, SampleCoverage, Samples};

use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Where threads were in a function's slow calls, and in no call within these that was seen.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct SlowLines {
    /// Slow calls: each surely took `above_ns`.
    pub calls: u64,
    /// In nanoseconds.
    pub above_ns: u64,
    /// In them.
    #[serde(flatten)]
    pub sampled: Sampled,
}

/// Where threads were.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Sampled {
    /// Samples in all.
    pub samples: u64,
    /// Most first.
    pub lines: Vec<Line>,
}

/// A line, and how often a thread was there.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct Line {
    /// File and line, and what was inlined there; a symbol or a file where no line is known.
    pub line: String,
    /// Samples.
    pub samples: u64,
}

/// Samples by address.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Addresses(BTreeMap<u64, u64>);

impl Addresses {
    /// Adds these moments.
    pub fn add(&mut self, moments: &[Moment]) {
        moments.iter().for_each(|moment| *self.0.entry(moment.address).or_default() += 1);
    }

    /// As lines; `line` names that of an address.
    #[must_use]
    pub fn named(&self, mut line: impl FnMut(u64) -> String) -> Sampled {
        let mut by_line: BTreeMap<String, u64> = BTreeMap::new();
        for (address, samples) in &self.0 {
            *by_line.entry(line(*address)).or_default() += samples;
        }
        let mut lines: Vec<Line> =
            by_line.into_iter().map(|(line, samples)| Line { line, samples }).collect();
        lines.sort_by_key(|one| Reverse(one.samples));
        Sampled { samples: self.0.values().sum(), lines }
    }
}
