//! A whole trace as stacks, each with the time that threads spent in its innermost function itself: what flame graphs
//! are drawn from.

mod choice;

pub use choice::{Choice, Tail};

use crate::clock::Clocks;
use crate::hash::Map;
use crate::names::Names;
use crate::paths::{Branch, Forest};
use crate::quality::Quality;
use crate::record::{Call, FunctionId, Record, ThreadId};
use crate::trace::{Ending, Header, TraceError};
use serde::Serialize;

/// Threads told apart; calls of further ones are counted as beyond bounds.
const THREADS_MAX: usize = 4096;

/// Stacks in the making.
pub struct Stacks {
    choice: Choice,
    clocks: Clocks,
    names: Names,
    quality: Quality,
    forest: Forest<ThreadId>,
    threads: Map<ThreadId, ()>,
    beyond: u64,
    records: u64,
}

/// The stacks of a trace.
#[derive(Debug)]
pub struct Report {
    /// Records read.
    pub records: u64,
    /// What the trace does not tell.
    pub quality: Quality,
    /// Calls that were chosen, and not within others that were.
    pub calls: u64,
    /// The time of all stacks, in nanoseconds: threads add up.
    pub total_ns: u64,
    /// The functions of the stacks.
    pub frames: Vec<Frame>,
    /// By path.
    pub stacks: Vec<Stack>,
}

/// A function.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Frame {
    /// Demangled.
    pub name: String,
    /// Source file; empty when unknown.
    pub file: String,
    /// Line of the definition; zero when unknown.
    pub line: u32,
}

/// Time that was spent on one path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stack {
    /// Places in [`Report::frames`], the outermost function first.
    pub frames: Vec<u32>,
    /// Calls of the innermost function on this path.
    pub calls: u64,
    /// Time in it and in no call of it that was seen, in nanoseconds: the middle of what it is known by.
    pub ns: u64,
}

impl Stacks {
    /// Begins, for the trace with this header.
    #[must_use]
    pub fn new(header: &Header, choice: Choice) -> Self {
        Self {
            choice,
            clocks: Clocks::new(header.clock),
            names: Names::default(),
            quality: Quality::default(),
            forest: Forest::default(),
            threads: Map::default(),
            beyond: 0,
            records: 0,
        }
    }

    /// Takes the next record.
    pub fn add(&mut self, record: &Record) {
        self.records += 1;
        match record {
            Record::Call(call) => self.call(call),
            Record::Clock(clock) => self.clocks.add(clock),
            Record::Gap(_) | Record::Loss(_) | Record::Looks(_) => self.quality.add(record),
            _ => self.names.add(record),
        }
    }

    /// Takes note of a damaged part.
    pub fn damaged(&mut self, error: &TraceError) {
        self.quality.damaged(error);
    }

    /// Concludes with what the reader says of the end.
    #[must_use]
    pub fn finish(mut self, ending: &Ending) -> Report {
        let rate = self.clocks.rate();
        self.quality.beyond_bounds = self.beyond + self.forest.beyond() + self.names.forgotten();
        self.quality.end(ending, rate);
        let mut walk =
            Walk { numbers: Map::default(), ids: vec![], path: vec![], stacks: vec![], calls: 0 };
        for root in self.forest.all() {
            walk.branch(&root, false);
        }
        let names = &self.names;
        let frame = |id: FunctionId| {
            let known = names.function(id);
            Frame {
                name: names.of(id),
                file: known.map_or_else(String::new, |function| function.file.clone()),
                line: known.map_or(0, |function| function.line),
            }
        };
        let frames = walk.ids.iter().map(|id| frame(*id)).collect();
        let mut stacks = walk.stacks;
        stacks.iter_mut().for_each(|stack| stack.ns = rate.ns(stack.ns));
        stacks.retain(|stack| stack.ns > 0);
        let total_ns = stacks.iter().map(|stack| stack.ns).fold(0, u64::saturating_add);
        Report {
            records: self.records,
            quality: self.quality,
            calls: walk.calls,
            total_ns,
            frames,
            stacks,
        }
    }

    fn call(&mut self, call: &Call) {
        if self.threads.len() >= THREADS_MAX && !self.threads.contains_key(&call.thread) {
            self.beyond += 1;
            return;
        }
        self.threads.insert(call.thread, ());
        self.forest.ended(call.thread, call, self.choice.includes(call));
    }
}

/// What has been told while trees are walked. Stacks have ticks for nanoseconds until the end.
struct Walk {
    numbers: Map<FunctionId, u32>,
    ids: Vec<FunctionId>,
    path: Vec<u32>,
    stacks: Vec<Stack>,
    calls: u64,
}

impl Walk {
    /// Trees are some hundred branches deep at most.
    fn branch(&mut self, branch: &Branch, is_in_chosen: bool) {
        let next = self.ids.len() as u32;
        let number = *self.numbers.entry(branch.key.function).or_insert(next);
        if number == next {
            self.ids.push(branch.key.function);
        }
        self.path.push(number);
        let is_chosen = is_in_chosen || branch.key.is_chosen;
        if is_chosen {
            self.calls += if is_in_chosen { 0 } else { branch.calls };
            let ns = branch.itself().middle();
            self.stacks.push(Stack { frames: self.path.clone(), calls: branch.calls, ns });
        }
        branch.callees.iter().for_each(|one| self.branch(one, is_chosen));
        self.path.pop();
    }
}
