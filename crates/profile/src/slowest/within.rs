//! The second pass: what happened in the slowest calls.

use super::rows::{self, Report};
use super::{Slow, Tally};
use crate::clock::Clocks;
use crate::hash::Map;
use crate::names::Names;
use crate::paths::{Branch, Forest};
use crate::quality::Quality;
use crate::record::{Call, Counted, Counts, Record, ThreadId};
use crate::requests::{Kept, Part, Request, What};

/// Keeps the calls, waits and gaps within the slowest calls.
pub struct Within {
    slowest: Vec<Slow>,
    functions: u64,
    tally: Tally,
    clocks: Clocks,
    quality: Quality,
    names: Names,
    kept: Kept,
    /// Of each thread, those of the slowest that have not ended in this reading, by generation.
    awaited: Map<ThreadId, Vec<(u64, usize)>>,
    forest: Forest<usize>,
    trees: Vec<Option<Branch>>,
    /// The one of them that the record before has told of: what was counted in it comes next.
    told: Option<usize>,
    counted: Vec<Counts>,
}

impl Within {
    pub(super) fn new(
        slowest: Vec<Slow>,
        functions: u64,
        tally: Tally,
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
        let counted = vec![Counts::default(); slowest.len()];
        let (names, forest) = (Names::default(), Forest::default());
        Self {
            slowest,
            functions,
            tally,
            clocks,
            quality,
            names,
            kept,
            awaited,
            forest,
            trees,
            told: None,
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
                let is_of = |nth: &usize| {
                    let Call { thread: own, generation: its, .. } = self.slowest[*nth].call;
                    (own, its) == (*thread, *generation)
                };
                if let Some(nth) = self.told.take().filter(is_of) {
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
        let Self { slowest, functions, tally, clocks, quality, names, trees, counted, .. } = self;
        let calls = slowest.iter().zip(trees).zip(counted);
        let calls = calls.map(|((slow, tree), counts)| (*slow, request(slow), tree, counts));
        let calls = rows::rows(calls, &scene, &names, &clocks);
        Report {
            records: tally.records,
            rate: clocks.rate(),
            quality,
            functions,
            count: tally.calls,
            left_out: tally.left_out,
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
            self.told = Some(nth);
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
