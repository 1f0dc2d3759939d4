//! The samples of a thread, and to which of its calls each belongs.

use super::Settled;
use super::reach::Reach;
use super::weighed::Kind;
use crate::record::{Call, FunctionId};
use crate::sampled::Moment;
use std::ops::RangeInclusive;

/// Where a call stood on its thread's stack.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    pub(super) depth: u32,
    pub(super) generation: u64,
}

impl Frame {
    /// Whether that call was made within this one: after it, and further up.
    const fn is_around(self, other: Self) -> bool {
        self.generation < other.generation && self.depth < other.depth
    }
}

/// The samples of a thread.
#[derive(Default)]
pub(super) struct Thread {
    /// Those that no ended call has reached yet, the latest first.
    ahead: Vec<Moment>,
    /// Those that belong to calls that have not ended, by time.
    unclaimed: Vec<Moment>,
    /// Those that this call may have had, by time.
    unclear: Vec<(Moment, Frame)>,
    /// Those that belong to ended calls, by time: slow ones may still turn out to lie around them.
    waiting: Vec<Waiting>,
}

/// A sample that belongs to an ended call.
#[derive(Clone, Copy)]
struct Waiting {
    moment: Moment,
    function: FunctionId,
    /// Of the call.
    generation: u64,
    /// When that had begun for certain.
    began_by_ns: u64,
    /// A slow call that ended unseen may have made that call.
    is_unclear: bool,
    /// Of the slow calls around it, which kind took the longest beyond the usual, and how much that surely was.
    slowest: Option<(Kind, u64)>,
}

impl Thread {
    /// The one with these samples, by time.
    pub(super) fn of(mut samples: Vec<Moment>) -> Self {
        samples.reverse();
        Self { ahead: samples, ..Self::default() }
    }

    /// Keeps those of an ended call for what is around it.
    pub(super) fn wait(&mut self, claimed: &[Moment], call: &Call, reach: &Reach) {
        let Some(first) = claimed.first() else { return };
        let from = self.waiting.partition_point(|one| one.moment.at_ns < first.at_ns);
        let Call { function, generation, .. } = *call;
        let began_by_ns = *reach.surely.start();
        self.waiting.extend(claimed.iter().map(|moment| Waiting {
            moment: *moment,
            function,
            generation,
            began_by_ns,
            is_unclear: false,
            slowest: None,
        }));
        // Two runs: calls within it have left theirs among them.
        self.waiting[from..].sort_by_key(|one| one.moment.at_ns);
    }

    /// Counts those of a slow call, and unless it is `alone` of calls within it: those that began after it, and before it can
    /// have ended. When the slow call began need not have been seen. Of one that began later it is not known which call made it.
    /// Each is told of the kind of the slow call, and of what that took beyond the usual, if no other around it took more.
    pub(super) fn count_in(
        &mut self,
        call: &Call,
        reach: &Reach,
        is_alone: bool,
        (kind, beyond_ns): (Kind, u64),
    ) -> u64 {
        let range = range_of(&self.waiting, &reach.maybe, |one| &one.moment);
        let mut taken = 0;
        for one in &mut self.waiting[range] {
            let is_taken = if is_alone {
                (one.function, one.generation) == (call.function, call.generation)
            } else {
                let is_later = one.generation >= call.generation;
                let is_made = is_later && one.began_by_ns <= *reach.surely.end();
                let is_within = is_made || reach.surely.contains(&one.moment.at_ns);
                one.is_unclear |= is_later && !is_within;
                is_within
            };
            if is_taken {
                taken += 1;
                if one.slowest.is_none_or(|(_, most_ns)| most_ns < beyond_ns) {
                    one.slowest = Some((kind, beyond_ns));
                }
            }
        }
        taken
    }

    /// Forgets all that was before an outermost call; samples of slow calls are settled. Answers of how many others it is not known
    /// whose they are.
    pub(super) fn forget_before(&mut self, at_ns: u64, settled: &mut Settled) -> u64 {
        let waiting = self.waiting.partition_point(|one| one.moment.at_ns < at_ns);
        let mut forgotten = 0;
        for Waiting { moment, function, is_unclear, slowest, .. } in self.waiting.drain(..waiting) {
            match slowest {
                Some((kind, _)) => settled.entry((function, kind)).or_default().add(&[moment]),
                None => forgotten += u64::from(is_unclear),
            }
        }
        let unclear = self.unclear.partition_point(|(moment, _)| moment.at_ns < at_ns);
        self.unclear.drain(..unclear);
        forgotten + unclear as u64
    }

    /// Takes those of this time that calls within may have had.
    pub(super) fn unclear_in(&mut self, time: &RangeInclusive<u64>) -> Vec<Moment> {
        let range = range_of(&self.unclear, time, |(moment, _)| moment);
        self.unclear.drain(range).map(|(moment, _)| moment).collect()
    }

    /// Takes the samples of a call that has ended. Calls within it ended before, and have taken theirs.
    pub(super) fn claim(&mut self, reach: &Reach, frame: Frame) -> Vec<Moment> {
        let Reach { surely, maybe } = reach;
        while let Some(next) = self.ahead.pop_if(|moment| moment.at_ns <= *maybe.end()) {
            self.unclaimed.push(next);
        }
        // A clocked call may be told late: what came after its end is not its own.
        let range = range_of(&self.unclaimed, maybe, |moment| moment);
        let (mut claimed, others): (Vec<_>, Vec<_>) =
            self.unclaimed.drain(range).partition(|moment| surely.contains(&moment.at_ns));
        // What a call before or after it has left. One around that call may have been in it, and not in itself.
        let left = range_of(&self.unclear, surely, |(moment, _)| moment);
        let own = self.unclear.extract_if(left, |(_, of)| !frame.is_around(*of));
        claimed.extend(own.map(|(moment, _)| moment));
        claimed.sort_by_key(|moment| moment.at_ns);
        if let Some(first) = others.first() {
            let from = self.unclear.partition_point(|(moment, _)| moment.at_ns < first.at_ns);
            self.unclear.extend(others.iter().map(|moment| (*moment, frame)));
            self.unclear[from..].sort_by_key(|(moment, _)| moment.at_ns);
        }
        claimed
    }
}

/// Where moments of this time lie in a list by time.
fn range_of<T>(
    list: &[T],
    time: &RangeInclusive<u64>,
    moment: impl Fn(&T) -> &Moment,
) -> std::ops::Range<usize> {
    let from = list.partition_point(|one| moment(one).at_ns < *time.start());
    let until = list.partition_point(|one| moment(one).at_ns <= *time.end());
    from..until.max(from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn thread(at: impl Iterator<Item = u64>) -> Thread {
        Thread::of(at.map(|at_ns| Moment { at_ns, address: at_ns }).collect())
    }

    fn claimed(thread: &mut Thread, start: u64, end: u64) -> Vec<u64> {
        let reach = Reach { maybe: start..=end, surely: start..=end };
        let frame = Frame { depth: 0, generation: 0 };
        thread.claim(&reach, frame).into_iter().map(|moment| moment.at_ns).collect()
    }

    #[test]
    fn a_sample_belongs_to_the_innermost_call() {
        let mut thread = thread(1..=10);
        assert_eq!(claimed(&mut thread, 3, 4), [3, 4]);
        assert_eq!(claimed(&mut thread, 6, 6), [6]);
        assert_eq!(claimed(&mut thread, 2, 8), [2, 5, 7, 8], "around both");
        assert_eq!(claimed(&mut thread, 0, 9), [1, 9]);
        assert_eq!(claimed(&mut thread, 20, 30), [0; 0], "10 lies before it");
        assert_eq!(claimed(&mut thread, 10, 30), [10], "and was not lost");
    }

    proptest! {
        /// Nested calls in the order of their ends: none is given twice, and none is lost.
        #[test]
        fn every_sample_goes_to_one_call(
            mut at in prop::collection::vec(0u64..1000, 0..100),
            cuts in prop::collection::vec((0u64..1000, 0u64..1000), 0..30),
        ) {
            at.sort_unstable();
            let mut calls: Vec<(u64, u64)> =
                cuts.into_iter().map(|(a, b)| (a.min(b), a.max(b))).chain([(0, 1000)]).collect();
            calls.sort_by_key(|(start, end)| (*end, std::cmp::Reverse(*start)));
            let mut thread = thread(at.iter().copied());
            let mut all: Vec<u64> =
                calls.iter().flat_map(|(start, end)| claimed(&mut thread, *start, *end)).collect();
            all.sort_unstable();
            prop_assert_eq!(all, at);
        }
    }
}
