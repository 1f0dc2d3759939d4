//! The second pass: what happened while the slowest were under way.

use super::every::Every;
use super::kept::Kept;
use super::report::{self, Report};
use super::{Counted, Request};
use crate::names::Names;
use crate::record::Record;

/// Keeps the calls, waits and gaps that touch one of the slowest requests.
pub struct Details {
    slowest: Vec<Request>,
    every: Option<Every>,
    counted: Counted,
    names: Names,
    kept: Kept,
}

impl Details {
    pub(super) fn new(slowest: Vec<Request>, every: Option<Every>, counted: Counted) -> Self {
        let kept = Kept::new(slowest.iter().map(|one| (one.start, one.end)).collect());
        Self { slowest, every, counted, names: Names::default(), kept }
    }

    /// Takes the next record of the second reading.
    pub fn add(&mut self, record: &Record) {
        self.names.add(record);
        self.kept.add(record);
    }

    /// Concludes.
    #[must_use]
    pub fn finish(mut self) -> Report {
        self.counted.quality.beyond_bounds = self.kept.left_out() + self.names.forgotten();
        let scene = self.kept.scene();
        // Of a part of the trace quantiles would not be those of all.
        let every = self.every.filter(|_| self.counted.quality.kept.is_none());
        let every = every.map(|every| every.told(&self.counted.clocks, &self.names));
        Report { every, ..report::build(&self.slowest, &scene, self.counted, self.names) }
    }
}
