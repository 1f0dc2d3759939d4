//! A set of functions as one: how long a thread was in any of them.

use super::Pair;
use super::interval::Interval;
use super::nested::Threads;
use super::rows::Bounds;
use super::rows::bounds;
use crate::clock::TickRate;
use crate::names::ENTRIES_MAX;
use crate::record::{Function, FunctionId, Record};
use serde::Serialize;
use std::collections::BTreeSet;

/// Time in functions of a set. While one is called by another of the set, the time counts once; threads add up.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Together {
    /// Functions of the set of which a call was seen.
    pub functions: u64,
    /// Calls that were not within others of the set.
    pub calls: u64,
    /// Calls that were: their time is that of the others.
    pub nested: u64,
    /// How long the former took of the recording. Calls that were not seen are not in it.
    pub total: Bounds,
    /// That divided by the calls.
    pub mean: Bounds,
    /// Time in functions of the set and in no call of another: `total` of whole calls, without what these had of functions that are not
    /// of the set. Calls that were not seen are in it.
    #[serde(rename = "self")]
    pub itself: Bounds,
}

/// The same in the making.
pub(super) struct Set {
    includes: Box<dyn Fn(&Function) -> bool>,
    /// As many as may have names.
    members: BTreeSet<FunctionId>,
    seen: BTreeSet<FunctionId>,
    threads: Threads,
    nested: u64,
    /// Calls on threads too many.
    beyond: u64,
}

impl Set {
    pub(super) fn new(includes: Box<dyn Fn(&Function) -> bool>) -> Self {
        let (members, seen) = (BTreeSet::new(), BTreeSet::new());
        Self { includes, members, seen, threads: Threads::default(), nested: 0, beyond: 0 }
    }

    pub(super) fn add(&mut self, record: &Record) {
        match record {
            Record::Function(function)
                if self.members.len() < ENTRIES_MAX && (self.includes)(function) =>
            {
                self.members.insert(function.id);
            }
            Record::Call(call) => {
                let is_member = self.members.contains(&call.function);
                let time = is_member.then(|| Interval::within(call));
                let Some(within) = self.threads.ended(call, time) else {
                    self.beyond += 1;
                    return;
                };
                self.nested += within.calls;
                if is_member {
                    self.seen.insert(call.function);
                }
            }
            _ => {}
        }
    }

    /// Calls beyond the bound.
    pub(super) const fn beyond(&self) -> u64 {
        self.beyond
    }

    /// `pairs` are all calls of the trace.
    pub(super) fn finish(self, pairs: &[Pair], rate: TickRate) -> Together {
        let sum = self.threads.sum();
        let itself = self.itself(pairs);
        Together {
            functions: self.seen.len() as u64,
            calls: sum.calls,
            nested: self.nested,
            total: bounds(sum.time, rate),
            mean: bounds(sum.time.divided(sum.calls), rate),
            itself: bounds(itself, rate),
        }
    }

    /// Calls from one of the set to another are within the set: they add nothing, and take nothing away.
    fn itself(&self, pairs: &[Pair]) -> Interval {
        let (mut into_it, mut out_of_it) = (Interval::NONE, Interval::NONE);
        for pair in pairs {
            let is_called_by_it = pair.caller.is_some_and(|id| self.members.contains(&id));
            match (self.members.contains(&pair.function), is_called_by_it) {
                (true, false) => into_it.add(pair.within),
                (false, true) => out_of_it.add(pair.within),
                _ => {}
            }
        }
        into_it.without(out_of_it)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_no_more_functions_than_there_may_be_names() {
        let mut set = Set::new(Box::new(|_| true));
        for id in 0..ENTRIES_MAX as u32 + 10 {
            let (name, file) = (String::new(), String::new());
            set.add(&Record::Function(Function {
                id: FunctionId(id),
                address: 0,
                name,
                file,
                line: 0,
            }));
        }
        assert_eq!(set.members.len(), ENTRIES_MAX);
    }
}
