//! A whole trace as stacks, each with the time that threads spent in its innermost function itself: what flame graphs
//! are drawn from.

mod choice;
mod marked;
mod flame;

pub use choice::{Choice, Tail};
pub use flame::{Flame, FlameFrame, Spent, Whole};
pub use marked::{MarkedCalls, MarkedChoices};

use crate::clock::{Clocks, TickRate};
use crate::hash::Map;
use crate::kernel::Running;
use crate::names::Names;
use crate::paths::{Branch, Forest};
use crate::quality::Quality;
use crate::record::{Call, FunctionId, Record, ThreadId, Ticks};
use crate::trace::{Ending, Header, TraceError};
use serde::Serialize;

/// Threads told apart; calls of further ones are counted as beyond bounds.
const THREADS_MAX: usize = 65_536;

/// Stacks in the making.
pub struct Stacks {
    choice: Choice,
    clocks: Clocks,
    /// Threads' clocks, and the whole recording's.
    running: Option<(Running, Clocks)>,
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
    /// How long a tick lasts.
    pub rate: TickRate,
    /// What the trace does not tell.
    pub quality: Quality,
    /// Calls that were chosen, and not within others that were.
    pub calls: u64,
    /// The time of all stacks, in nanoseconds: threads add up.
    pub total_ns: u64,
    /// The functions of the stacks.
    pub frames: Vec<Frame>,
    /// By path. One whose calls were all spent in calls of others has no time, and still its calls.
    pub stacks: Vec<Stack>,
}

/// A function.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
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
    /// Time in it and in no call of it that was seen, in nanoseconds. All stacks add up to the lengths of the chosen calls.
    pub ns: u64,
}

impl Stacks {
    /// Begins, for the trace with this header.
    #[must_use]
    pub fn new(header: &Header, choice: Choice) -> Self {
        Self {
            choice,
            clocks: Clocks::new(header.clock),
            running: None,
            names: Names::default(),
            quality: Quality::default(),
            forest: Forest::default(),
            threads: Map::default(),
            beyond: 0,
            records: 0,
        }
    }

    /// Counts only the time in which threads had a core. `clocks` has all readings of the trace: from a reading of its own,
    /// before this one.
    #[must_use]
    pub fn while_running(mut self, running: Running, clocks: Clocks) -> Self {
        self.running = Some((running, clocks));
        self
    }

    /// Takes the next record.
    pub fn add(&mut self, record: &Record) {
        self.records += 1;
        match record {
            Record::Call(call) => self.call(call),
            Record::Clock(clock) => self.clocks.add(clock),
            Record::Gap(_) | Record::Loss(_) | Record::Looks(_) | Record::Figure(_) => {
                self.quality.add(record);
            }
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
            walk.branch(&root, root.length, false);
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
        let total_ns = in_ns(&mut stacks, rate);
        Report {
            records: self.records,
            rate,
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
        let is_chosen = self.choice.includes(call);
        let of_thread = self
            .running
            .as_ref()
            .map(|(running, clocks)| running.of(self.names.tid(call.thread), call, clocks));
        self.forest.ended(call.thread, of_thread.as_ref().unwrap_or(call), is_chosen);
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
    /// Divides the time that falls to a branch among it and its callees. Trees are some hundred branches deep at most.
    fn branch(&mut self, branch: &Branch, time: Ticks, is_in_chosen: bool) {
        let next = self.ids.len() as u32;
        let number = *self.numbers.entry(branch.key.function).or_insert(next);
        if number == next {
            self.ids.push(branch.key.function);
        }
        self.path.push(number);
        let is_chosen = is_in_chosen || branch.key.is_chosen;
        let shares = shares(branch, time);
        if is_chosen {
            self.calls += if is_in_chosen { 0 } else { branch.calls };
            let ns = shares.iter().fold(time, |left, share| left - share);
            self.stacks.push(Stack { frames: self.path.clone(), calls: branch.calls, ns });
        }
        for (callee, share) in branch.callees.iter().zip(shares) {
            self.branch(callee, share, is_chosen);
        }
        self.path.pop();
    }
}

/// The time of each callee: its length. A damaged trace may have longer callees than fit; those share what there is.
fn shares(branch: &Branch, time: Ticks) -> Vec<Ticks> {
    let lengths = branch.callees.iter().map(|one| one.length);
    let all: u128 = lengths.clone().map(u128::from).sum();
    let share = |length: Ticks| match all <= u128::from(time) {
        true => length,
        // No more than `length`.
        false => (u128::from(length) * u128::from(time) / all) as Ticks,
    };
    lengths.map(share).collect()
}

/// Ticks to nanoseconds, and the sum of these. What rounding takes from one stack goes to the next.
fn in_ns(stacks: &mut [Stack], rate: TickRate) -> u64 {
    let (mut ticks, mut told) = (0_u64, 0);
    for stack in stacks {
        ticks = ticks.saturating_add(stack.ns);
        let until = rate.ns(ticks);
        stack.ns = until.saturating_sub(told);
        told = until;
    }
    told
}
