//! The second pass: what happened in the slowest calls.

use super::rows::{self, Report};
use super::{Counts, Slow};
use crate::clock::Clocks;
use crate::hash::Map;
use crate::names::Names;
use crate::paths::{Branch, Forest};
use crate::quality::Quality;
use crate::record::{self, Call, Counted, Record, ThreadId};
use crate::requests::{Kept, Part, Request, What};

/// Keeps the calls, waits and gaps within the slowest calls.
pub struct Within {
    slowest: Vec<Slow>,
    functions: u64,
    counts: Counts,
    clocks: Clocks,
    quality: Quality,
    names: Names,
    kept: Kept,
    /// Of each thread, those of the slowest that have not ended in this reading, by generation.
    awaited: Map<ThreadId, Vec<(u64, usize)>>,
    forest: Forest<usize>,
    trees: Vec<Option<Branch>>,
    /// Which of the slowest a call is, by thread and generation.
    places: Map<(ThreadId, u64), usize>,
    counted: Vec<record::Counts>,
}

impl Within {
    pub(super) fn new(
        slowest: Vec<Slow>,
        functions: u64,
        counts: Counts,
        clocks: Clocks,
        quality: Quality,
    ) -> Self {
        let mut awaited: Map<ThreadId, Vec<(u64, usize)>> = Map::default();
        for (nth, slow) in slowest.iter().enumerate() {
            awaited.entry(slow.call.thread).or_default().push((slow.call.generation, nth));
        }
        awaited.values_mut().for_each(|all| all.sort_unstable());
        let kept = Kept::new(slowest.iter().map(|one| (one.call.start, one.call.end)).collect());
        let trees = slowest.iter().map(|_| None).collect();
        let name = |one: &Slow| (one.call.thread, one.call.generation);
        let places = slowest.iter().map(name).zip(0..).collect();
        let counted = vec![record::Counts::default(); slowest.len()];
        let (names, forest) = (Names::default(), Forest::default());
        Self {
            slowest,
            functions,
            counts,
            clocks,
            quality,
            names,
            kept,
            awaited,
            forest,
            trees,
            places,
            counted,
        }
    }

    /// Takes the next record of the second reading.
    pub fn add(&mut self, record: &Record) {
        self.names.add(record);
        self.kept.add(record);
        match record {
            Record::Call(call) => self.call(call),
            Record::Counted(Counted { thread, generation, counts, .. }) => {
                if let Some(&nth) = self.places.get(&(*thread, *generation)) {
                    self.counted[nth] = *counts;
                }
            }
            _ => {}
        }
    }

    /// Concludes.
    #[must_use]
    pub fn finish(mut self) -> Report {
        self.quality.beyond_bounds =
            self.kept.left_out() + self.forest.beyond() + self.names.forgotten();
        let scene = self.kept.scene();
        let Self { slowest, functions, counts, clocks, quality, names, trees, counted, .. } = self;
        let calls = slowest.iter().zip(trees).zip(counted);
        let calls = calls.map(|((slow, tree), counts)| (*slow, request(slow), tree, counts));
        let calls = rows::rows(calls, &scene, &names, &clocks);
        Report {
            records: counts.records,
            rate: clocks.rate(),
            quality,
            functions,
            count: counts.calls,
            left_out: counts.left_out,
            slowest: calls,
            kernel: None,
            samples: None,
            names,
        }
    }

    /// A call lies within those of the slowest that began before it on its thread and have not ended.
    fn call(&mut self, call: &Call) {
        let Some(awaited) = self.awaited.get_mut(&call.thread) else { return };
        let began = awaited.partition_point(|(generation, _)| *generation <= call.generation);
        for &(generation, nth) in &awaited[..began] {
            let root = self.slowest[nth].call;
            let depth = call.depth.saturating_sub(root.depth);
            self.forest.ended(nth, &Call { depth, ..*call }, generation == call.generation);
        }
        if let Some(at) = awaited[..began].iter().position(|(own, _)| *own == call.generation) {
            let (_, nth) = awaited.remove(at);
            self.trees[nth] = self.forest.take_last(nth);
        }
    }
}

/// The whole of a call as a request for which its thread worked: what it did and waited for is found the same way.
fn request(slow: &Slow) -> Request {
    let Call { thread, generation, start, end, .. } = slow.call;
    // A damaged trace may say otherwise.
    let start = start.min(end);
    let part = Part { from: start, to: end, what: What::Work(thread) };
    Request {
        number: generation,
        start,
        end,
        parts: vec![part],
        parts_left_out: 0,
        called: None,
        legs: vec![],
    }
}
