//! Which calls lay within which, by path: the trees behind flame graphs and behind single slow calls.

use crate::functions::Interval;
use crate::hash::Map;
use crate::record::{Call, FunctionId, Ticks};
use std::hash::Hash;

/// Branches kept in all; calls of further paths count as their callers' own time.
const BRANCHES_MAX: usize = 1 << 20;
/// Calls of one thread that wait for the end of what they lie in, before those of one place become one.
const PENDING_MAX: usize = 1024;
/// Frames deeper than this count as time of the last one above.
const DEPTH_MAX: u32 = 512;

/// A function as called from one place on one path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Branch {
    pub(crate) key: Key,
    pub(crate) calls: u64,
    /// All of them, as far as they lay in the recording.
    pub(crate) time: Interval,
    /// The sum of their lengths: unlike bounds, lengths of callees fit into that of their caller.
    pub(crate) length: Ticks,
    /// By key.
    pub(crate) callees: Vec<Self>,
}

/// What tells branches of one path apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Key {
    pub(crate) function: FunctionId,
    /// The instrumented function that called.
    pub(crate) caller: Option<FunctionId>,
    /// Where that goes on; zero when unknown.
    pub(crate) site: u16,
    /// What the reader chose; such calls are told apart from others of the same path.
    pub(crate) is_chosen: bool,
}

/// Trees in the making, one for each `K`.
///
/// A thread's calls come when they end, so one comes after those within it: all that came since with a later
/// generation. Until then they are pending, the outermost first. What lies within a call is deeper than it, so a tree
/// has at most one branch for each depth; a damaged trace may say otherwise, and then the two stand side by side.
pub(crate) struct Forest<K> {
    pending: Map<K, Vec<Pending>>,
    branches: usize,
    beyond: u64,
}

struct Pending {
    depth: u32,
    generation: u64,
    branch: Branch,
}

impl<K> Default for Forest<K> {
    fn default() -> Self {
        Self { pending: Map::default(), branches: 0, beyond: 0 }
    }
}

impl Branch {
    /// The time in it and in no call within it.
    pub(crate) fn itself(&self) -> Interval {
        let mut callees = Interval::NONE;
        self.callees.iter().for_each(|one| callees.add(one.time));
        self.time.without(callees)
    }

    /// Adds the calls of another of the same key. Says how many branches the two had in common.
    fn merge(&mut self, other: Self) -> usize {
        self.calls += other.calls;
        self.time.add(other.time);
        self.length = self.length.saturating_add(other.length);
        let mut callees = std::mem::take(&mut self.callees);
        callees.extend(other.callees);
        let (merged, joined) = by_key(callees);
        self.callees = merged;
        joined + 1
    }
}

/// Branches in the order of their keys, those of one key joined; and how many fewer there are now, callees included.
fn by_key(mut branches: Vec<Branch>) -> (Vec<Branch>, usize) {
    branches.sort_by_key(|one| one.key);
    let (mut out, mut joined): (Vec<Branch>, usize) = (Vec::with_capacity(branches.len()), 0);
    for branch in branches {
        match out.last_mut().filter(|last| last.key == branch.key) {
            Some(last) => joined += last.merge(branch),
            None => out.push(branch),
        }
    }
    (out, joined)
}

impl<K: Copy + Eq + Hash> Forest<K> {
    /// A call is over.
    pub(crate) fn ended(&mut self, of: K, call: &Call, is_chosen: bool) {
        if call.depth > DEPTH_MAX {
            return;
        }
        let pending = self.pending.entry(of).or_default();
        let later = pending.iter().rev().take_while(|one| one.generation > call.generation).count();
        let later = pending.split_off(pending.len() - later);
        let (within, beside): (Vec<_>, Vec<_>) =
            later.into_iter().partition(|one| one.depth > call.depth);
        pending.extend(beside);
        let (callees, joined) = by_key(within.into_iter().map(|one| one.branch).collect());
        self.branches -= joined;
        if pending.len() >= PENDING_MAX {
            self.branches -= squeeze(pending);
        }
        // A leaf may be left out; what has callees may not, or these had nothing to belong to, nor what comes first.
        let is_full = self.branches >= BRANCHES_MAX || pending.len() >= PENDING_MAX;
        if is_full && callees.is_empty() && !pending.is_empty() {
            self.beyond += 1;
            return;
        }
        self.branches += 1;
        let key = Key { function: call.function, caller: call.parent, site: call.site, is_chosen };
        let time = Interval::within(call);
        let branch = Branch { key, calls: 1, time, length: call.length(), callees };
        pending.push(Pending { depth: call.depth, generation: call.generation, branch });
    }

    /// What came last: a call with all that lay within it.
    pub(crate) fn take_last(&mut self, of: K) -> Option<Branch> {
        self.pending.remove(&of)?.pop().map(|one| one.branch)
    }

    /// All trees, by their roots' keys.
    pub(crate) fn all(self) -> Vec<Branch> {
        let pending = self.pending.into_values().flatten();
        by_key(pending.map(|one| one.branch).collect()).0
    }

    /// Calls beyond the bounds.
    pub(crate) const fn beyond(&self) -> u64 {
        self.beyond
    }
}

/// Joins calls of one key that are as deep: the same call lies around all of them, unless its end was not told of. Says
/// how many branches there are fewer.
fn squeeze(pending: &mut Vec<Pending>) -> usize {
    let mut joined = 0;
    let mut out: Vec<Pending> = Vec::new();
    pending.sort_by_key(|one| (one.depth, one.branch.key, one.generation));
    for one in pending.drain(..) {
        match out
            .last_mut()
            .filter(|last| (last.depth, last.branch.key) == (one.depth, one.branch.key))
        {
            Some(last) => joined += last.branch.merge(one.branch),
            None => out.push(one),
        }
    }
    out.sort_by_key(|one| one.generation);
    *pending = out;
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{CallFlags, ThreadId, Ticks};

    /// A function of a depth and a generation, which ran from then to then.
    fn call(function: u32, depth: u32, generation: u64, start: Ticks, end: Ticks) -> Call {
        Call {
            thread: ThreadId(0),
            function: FunctionId(function),
            parent: None,
            depth,
            generation,
            start,
            start_slack: 0,
            end,
            end_slack: 0,
            flags: CallFlags::default(),
            site: 0,
        }
    }

    fn shown(branch: &Branch) -> String {
        let callees: Vec<String> = branch.callees.iter().map(shown).collect();
        let (name, itself) = (branch.key.function.0, branch.itself());
        assert_eq!(itself.low, itself.high);
        format!("{name}×{}:{}({})", branch.calls, itself.low, callees.join(" "))
    }

    #[test]
    fn calls_of_one_path_are_one_branch() {
        let mut forest = Forest::default();
        for one in [
            call(3, 2, 3, 10, 20),
            call(2, 1, 2, 5, 30),
            call(3, 2, 5, 41, 42),
            call(4, 2, 6, 44, 47),
            call(2, 1, 4, 40, 50),
            call(1, 0, 1, 0, 100),
            call(1, 0, 7, 100, 101),
        ] {
            forest.ended((), &one, false);
        }
        let all: Vec<String> = forest.all().iter().map(shown).collect();
        assert_eq!(all, ["1×2:66(2×2:21(3×2:11() 4×1:3()))"]);
    }

    #[test]
    fn chosen_calls_are_apart_from_others_of_their_path() {
        let mut forest = Forest::default();
        for generation in 2..6 {
            forest.ended((), &call(2, 1, generation, generation, generation + 1), generation == 3);
        }
        forest.ended((), &call(1, 0, 1, 0, 10), false);
        let root = forest.take_last(()).expect("a root");
        let told: Vec<_> = root.callees.iter().map(|one| (one.key.is_chosen, one.calls)).collect();
        assert_eq!(told, [(false, 3), (true, 1)]);
        assert_eq!(root.itself().low, 6);
    }

    #[test]
    fn a_call_around_millions_takes_bounded_memory_and_loses_no_time() {
        let mut forest = Forest::default();
        let count = 1_000_000;
        for n in 0..count {
            let start = n * 10;
            forest.ended((), &call(3, 2, n * 2 + 3, start + 1, start + 2), false);
            forest.ended((), &call(2 + (n % 2) as u32 * 8, 1, n * 2 + 2, start, start + 5), false);
            assert!(forest.branches <= 2 * PENDING_MAX + 4, "{}", forest.branches);
        }
        forest.ended((), &call(1, 0, 1, 0, count * 10), false);
        assert_eq!(forest.branches, 5);
        assert_eq!(forest.beyond(), 0);
        let root = forest.take_last(()).expect("a root");
        let half = count / 2;
        let expected = format!(
            "1×1:{}(2×{half}:{}(3×{half}:{half}()) 10×{half}:{}(3×{half}:{half}()))",
            count * 5,
            half * 4,
            half * 4
        );
        assert_eq!(shown(&root), expected);
    }

    /// Of one depth, each with an earlier generation than the one before: no stack has such calls.
    #[test]
    fn calls_of_one_depth_never_nest() {
        let mut forest = Forest::default();
        for generation in (1..=20_000).rev() {
            forest.ended((), &call(1, 3, generation, 0, 10), false);
            assert!(forest.branches <= PENDING_MAX + 1, "{}", forest.branches);
        }
        let all = forest.all();
        assert_eq!(all.iter().map(|root| root.calls).sum::<u64>(), 20_000);
        assert!(all.iter().all(|root| root.callees.is_empty()));
    }

    #[test]
    fn recursion_without_end_is_cut() {
        let mut forest = Forest::default();
        for depth in (0..60_000).rev() {
            forest.ended((), &call(1, depth, u64::from(depth) + 1, 0, 1_000), false);
        }
        let (mut deep, mut at) = (0, forest.take_last(()).expect("a root"));
        while let Some(below) = at.callees.pop() {
            (deep, at) = (deep + 1, below);
        }
        assert_eq!(deep, DEPTH_MAX);
    }
}
