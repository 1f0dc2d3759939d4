//! Which calls of a set of functions lie within others of it, on one thread.

use super::interval::Interval;
use crate::hash::Map;
use crate::record::{Call, ThreadId, Ticks};

/// Threads told apart at a time. Beyond half of that a thread in no call makes room for others.
const THREADS_MAX: usize = 65_536;
/// Entries kept, beside one for each frame.
const ENTRIES_MAX: usize = 64;

/// The calls of the set on all threads.
#[derive(Default)]
pub(crate) struct Threads {
    by_id: Map<ThreadId, Nested>,
    /// Of threads that have made room for others.
    settled: Sum,
}

/// Calls of the set that are over, and that one may yet turn out to lie around.
///
/// A thread's calls come when they end, so one comes after those within it. When a call ends, all that came with a
/// later generation began and ended within it: from then on they have their callers in common, and are one entry.
/// A call has them in common, too, with those before it that were as deep or deeper. The exception is where the end
/// of another between them was not told of. So beyond the bound they become one entry, and depths grow from entry to
/// entry.
#[derive(Default)]
pub(crate) struct Nested {
    open: Vec<Entry>,
    /// What nothing can lie around any more.
    settled: Sum,
}

/// Calls of the set, none within another.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Sum {
    pub(crate) calls: u64,
    pub(crate) time: Interval,
    /// The same from start to end, whatever slack both have.
    pub(crate) length: Ticks,
}

struct Entry {
    depth: u32,
    /// Of the first of them.
    generation: u64,
    sum: Sum,
}

impl Sum {
    pub(super) fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.time.add(other.time);
        self.length = self.length.saturating_add(other.length);
    }
}

impl Threads {
    /// As [`Nested::ended`], on the call's thread. `None` on a thread too many, whose calls are left out.
    pub(crate) fn ended(&mut self, call: &Call, time: Option<Interval>) -> Option<Sum> {
        if !self.by_id.contains_key(&call.thread) && self.by_id.len() >= THREADS_MAX {
            return None;
        }
        let within = self.by_id.entry(call.thread).or_default().ended(call, time);
        if call.depth == 0 && self.by_id.len() > THREADS_MAX / 2 {
            let idle = self.by_id.remove(&call.thread);
            idle.into_iter().for_each(|thread| self.settled.add(thread.sum()));
        }
        Some(within)
    }

    /// All calls of the set that are within no other.
    pub(super) fn sum(&self) -> Sum {
        let mut sum = self.settled;
        self.by_id.values().for_each(|thread| sum.add(thread.sum()));
        sum
    }
}

impl Nested {
    /// A call is over. `time` is what it took, if it is of the set. Returns the calls of the set that were within it:
    /// they no longer count.
    pub(crate) fn ended(&mut self, call: &Call, time: Option<Interval>) -> Sum {
        let mut within = Sum::default();
        while let Some(last) = self.open.pop_if(|last| last.generation > call.generation) {
            within.add(last.sum);
        }
        let (sum, swallowed) = match time {
            Some(time) => (Sum { calls: 1, time, length: call.length() }, within),
            None => (within, Sum::default()),
        };
        if call.depth == 0 {
            // What is left came before it, on an empty stack.
            self.open.drain(..).for_each(|entry| self.settled.add(entry.sum));
            self.settled.add(sum);
        } else if sum.calls > 0 {
            let is_full = self.open.len() >= ENTRIES_MAX;
            match self.open.last_mut().filter(|last| is_full && last.depth >= call.depth) {
                Some(last) => {
                    last.depth = call.depth;
                    last.sum.add(sum);
                }
                None => {
                    let (depth, generation) = (call.depth, call.generation);
                    self.open.push(Entry { depth, generation, sum });
                }
            }
        }
        swallowed
    }

    /// All of it, when no more calls come.
    pub(super) fn sum(&self) -> Sum {
        let mut sum = self.settled;
        self.open.iter().for_each(|entry| sum.add(entry.sum));
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{CallFlags, FunctionId};
    use proptest::prelude::*;

    /// A call of a made-up run.
    struct Truth {
        call: Call,
        parent: Option<usize>,
        is_in_set: bool,
        is_told: bool,
    }

    /// Runs steps (a call begins, or one ends), and gives the calls in the order in which they end.
    fn run(steps: &[(bool, bool, bool)]) -> Vec<Truth> {
        let (mut open, mut over): (Vec<usize>, Vec<usize>) = (vec![], vec![]);
        let mut all: Vec<Truth> = vec![];
        for (now, &(begins, is_in_set, is_told)) in steps.iter().enumerate() {
            if begins {
                let call = Call {
                    thread: ThreadId(0),
                    function: FunctionId(0),
                    parent: None,
                    depth: open.len() as u32,
                    generation: all.len() as u64 + 1,
                    start: now as u64,
                    start_slack: 0,
                    end: 0,
                    end_slack: 0,
                    flags: CallFlags::default(),
                    site: 0,
                };
                let parent = open.last().copied();
                open.push(all.len());
                all.push(Truth { call, parent, is_in_set, is_told });
            } else if let Some(ends) = open.pop() {
                all[ends].call.end = now as u64;
                over.push(ends);
            }
        }
        while let Some(ends) = open.pop() {
            all[ends].call.end = steps.len() as u64;
            over.push(ends);
        }
        // Positions in `all` are parents' names: the order is told by a list beside it.
        let order = over;
        let mut places: Vec<Option<Truth>> = all.into_iter().map(Some).collect();
        let mut named: Vec<usize> = vec![0; places.len()];
        order.iter().enumerate().for_each(|(at, &one)| named[one] = at);
        let take = |one: usize| places[one].take().expect("each ends once");
        let mut sorted: Vec<Truth> = order.iter().copied().map(take).collect();
        sorted.iter_mut().for_each(|one| one.parent = one.parent.map(|parent| named[parent]));
        sorted
    }

    proptest! {
        #[test]
        fn calls_within_others_of_the_set_count_once(
            steps in prop::collection::vec((any::<bool>(), any::<bool>(), prop::bool::weighted(0.8)), 0..120),
        ) {
            let run = run(&steps);
            let is_member = |at: usize| run[at].is_in_set && run[at].is_told;
            let (mut naive, mut inner) = (Sum::default(), 0);
            let (mut nested, mut swallowed) = (Nested::default(), 0);
            for (at, one) in run.iter().enumerate() {
                let length = one.call.end - one.call.start;
                let time = Interval { low: length, high: length };
                let mut around = std::iter::successors(one.parent, |&at| run[at].parent);
                if is_member(at) && around.any(is_member) {
                    inner += 1;
                } else if is_member(at) {
                    naive.add(Sum { calls: 1, time, length });
                }
                if one.is_told {
                    swallowed += nested.ended(&one.call, one.is_in_set.then_some(time)).calls;
                }
            }
            prop_assert_eq!(nested.sum(), naive);
            prop_assert_eq!(swallowed, inner);
        }
    }

    #[test]
    fn many_calls_in_one_take_bounded_memory_and_count_once() {
        let mut steps = vec![(true, false, true), (true, true, true)];
        steps.extend([(true, true, true), (false, false, false)].repeat(10_000));
        let mut nested = Nested::default();
        let mut swallowed = 0;
        for one in run(&steps) {
            let length = one.call.end - one.call.start;
            let time = one.is_in_set.then_some(Interval { low: length, high: length });
            swallowed += nested.ended(&one.call, time).calls;
            assert!(nested.open.len() <= ENTRIES_MAX + 3);
        }
        let length = 20_001;
        let time = Interval { low: length, high: length };
        assert_eq!((nested.sum(), swallowed), (Sum { calls: 1, time, length }, 10_000));
    }
}
