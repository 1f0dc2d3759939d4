//! A further reading of a trace, for the calls of the slowest requests.
//!
//! Of a trace with too many requests the longest are kept. What a slow request has called may be shorter than all of these.
//! So such traces are read again for the names of its calls. What is found has calls, too, so they are read once more for
//! each tier.

use super::longest::Brief;
use crate::hash::Map;
use crate::record::Record;
use crate::requests::{Assembly, Request};
use std::collections::BTreeSet;

/// Calls of the requests that one reading finds; of further ones nothing is told. 2¹⁸ take 8 MB.
pub(super) const LEGS_MAX: usize = 1 << 18;

/// A further reading of one trace.
pub struct Search<'a> {
    /// What is kept of the trace, longest first.
    known: &'a [Brief],
    /// The names that are looked for, each with whether a request of that name was met.
    names: Map<u64, bool>,
    assembly: Assembly,
    found: Counterparts,
    /// There is room for so many calls more.
    legs_left: usize,
}

/// What it found.
pub struct Counterparts {
    /// The trace's place.
    pub(super) trace: usize,
    /// Requests that were left out, one of a name.
    pub(super) requests: Vec<Brief>,
    /// Names that others of these have, too.
    pub(super) doubled: BTreeSet<u64>,
}

impl<'a> Search<'a> {
    /// Of the trace in this place, of which `known` is kept. Some request that is known has told of a call of each name.
    pub(super) fn new(
        trace: usize,
        known: &'a [Brief],
        names: impl Iterator<Item = u64>,
        legs_max: usize,
    ) -> Self {
        Self {
            known,
            names: names.map(|name| (name, false)).collect(),
            assembly: Assembly::default(),
            found: Counterparts { trace, requests: Vec::new(), doubled: BTreeSet::new() },
            legs_left: legs_max,
        }
    }

    /// Takes the next record.
    pub fn add(&mut self, record: &Record) {
        let done = self.assembly.add_record(record);
        self.note(done);
    }

    /// Concludes.
    #[must_use]
    pub fn finish(mut self) -> Counterparts {
        while let Some(done) = self.assembly.next() {
            self.note(done);
        }
        self.found
    }

    fn note(&mut self, done: Option<Request>) {
        let Some(request) = done.filter(|one| self.matters(one) && !self.is_known(one)) else {
            return;
        };
        let Counterparts { requests, doubled, .. } = &mut self.found;
        // One that is known has told of each name, so this is another call of it.
        doubled.extend(names(&request).filter(|name| self.names.contains_key(name)));
        let Some((call, _)) = request.called else { return };
        let Some(is_met) = self.names.get_mut(&call) else { return };
        if std::mem::replace(is_met, true) {
            doubled.insert(call);
        } else if let Some(left) = self.legs_left.checked_sub(request.legs.len()) {
            self.legs_left = left;
            requests.push(Brief::from(request));
        }
    }

    /// It has to do with a name that is looked for.
    fn matters(&self, request: &Request) -> bool {
        let called = request.called.map(|(call, _)| call);
        names(request).chain(called).any(|name| self.names.contains_key(&name))
    }

    fn is_known(&self, request: &Request) -> bool {
        self.known.binary_search_by(|one| one.beside(request)).is_ok()
    }
}

/// Of a request's calls.
fn names(request: &Request) -> impl Iterator<Item = u64> {
    request.legs.iter().map(|leg| leg.call)
}
