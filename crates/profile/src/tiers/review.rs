//! The second reading of a trace: what happened in the requests that were met.

use super::longest::Brief;
use crate::names::Names;
use crate::record::{Record, Ticks};
use crate::requests::{Assembly, Kept, Request, Scene};
use std::collections::{BTreeMap, BTreeSet};

/// The second reading of one trace.
pub struct Review {
    wanted: BTreeSet<(u64, Ticks)>,
    assembly: Assembly,
    names: Names,
    kept: Kept,
    found: BTreeMap<(u64, Ticks), Request>,
}

/// What it found.
pub(super) struct Seen {
    pub(super) names: Names,
    pub(super) scene: Scene,
    /// By number and start.
    pub(super) requests: BTreeMap<(u64, Ticks), Request>,
    /// What was left out for want of room.
    pub(super) left_out: u64,
}

impl Review {
    pub(super) fn new<'a>(met: impl Iterator<Item = &'a Brief>) -> Self {
        let key = |one: &Brief| ((one.number, one.start), (one.start, one.end));
        let (wanted, windows) = met.map(key).unzip();
        Self {
            wanted,
            assembly: Assembly::default(),
            names: Names::default(),
            kept: Kept::new(windows),
            found: BTreeMap::new(),
        }
    }

    /// Takes the next record of the second reading.
    pub fn add(&mut self, record: &Record) {
        self.names.add(record);
        self.kept.add(record);
        let done = self.assembly.add_record(record);
        self.note(done);
    }

    pub(super) fn finish(mut self) -> Seen {
        while let Some(done) = self.assembly.next() {
            self.note(done);
        }
        let left_out = self.kept.left_out() + self.names.forgotten();
        Seen { names: self.names, scene: self.kept.scene(), requests: self.found, left_out }
    }

    fn note(&mut self, done: Option<Request>) {
        let Some(request) = done else { return };
        let key = (request.number, request.start);
        if self.wanted.contains(&key) {
            self.found.insert(key, request);
        }
    }
}
