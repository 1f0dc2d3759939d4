//! What scanning costs on this machine, and how late it sees: measured when a recording begins, on a thread that calls.
//!
//! The time in which a line of memory goes from core to core is no estimate: how much of it a thread waits for
//! differs between processors, threefold for the lines of a stack. So one side of a [`Rig`] calls as instrumented
//! code does and takes its own time. The other side looks at it in every second round: the difference of the rounds
//! is what the looks cost.
//!
//! A store waits in its core's store buffer until that core has the line, which the looking side took away. Meanwhile looks do
//! not find it. So the calling side notes when it pushes, and the other side how long after that a look did not find the push.

use crate::look::scan::Costs;
use crate::system::clock::ticks;
use std::hint::{black_box, spin_loop};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};
use tailwater_profile::record::Ticks;

/// What is known of looks before they begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Calibration {
    pub(crate) costs: Costs,
    /// From a thread's store to the first look that finds it, at most.
    pub(crate) delay: Ticks,
}

impl Calibration {
    /// Where the thread cannot run while it is looked at: its core's store buffer is empty by then.
    pub(crate) const NONE: Self = Self { costs: Costs::NONE, delay: 0 };

    /// For where it cannot be measured.
    pub(crate) const fn usual(us: Ticks) -> Self {
        Self { costs: Costs::usual(us), delay: us * DELAY_NS_MIN / 1000 }
    }
}

/// A delay counts as 240 ns at least. That is twice what the test of time lines saw on two cores, where bounds left it out.
/// The program's cores may be farther apart than the two on which it is measured, and its store buffers fuller.
const DELAY_NS_MIN: u64 = 240;

/// Rounds of each kind, half of them looked at.
const ROUNDS: usize = 96;
/// Either side gives up after this many microseconds.
const GIVE_UP_US: u64 = 10_000;
/// Frames of a burst, as in LDB's own application, and the lines that they fill.
const FRAMES: u32 = 20;
const LINES: u64 = 5;
/// A round's bursts, and turns of a loop after each: a microsecond or so.
const BURSTS: u32 = 4;
const REST: u64 = 4000;

/// No look.
const QUIET: u32 = 0;
/// The head is looked at every two microseconds.
const HEADS: u32 = 1;
/// The head is looked at all the time, but for a moment after each change.
const CHANGES: u32 = 2;
/// The same, and the stack is walked when it rests.
const WALKS: u32 = 3;
/// As with [`CHANGES`]; each push is dated.
const DATES: u32 = 4;
const OVER: u32 = 5;

/// Dated pushes that are remembered: more than come between two looks.
const PUSHES: usize = 32;

/// A stack that one thread pushes on and another looks at. On 128 bytes each, since processors fetch
/// lines in pairs.
#[derive(Default)]
pub(crate) struct Rig {
    head: Apart<[AtomicU64; 2]>,
    stack: Apart<[[AtomicU64; 2]; 32]>,
    /// Written by the calling side.
    phase: Apart<AtomicU32>,
    /// Looks that cost something, and walks, so far; written by the looking side.
    looks: Apart<[AtomicU32; 2]>,
    /// When pushes were made, by their numbers modulo [`PUSHES`]; written by the calling side.
    pushed: Apart<[AtomicU64; PUSHES]>,
    /// The longest time after a push at which a look did not find it; written by the looking side.
    longest: Apart<AtomicU64>,
}

/// By so many bits a glimpse has the counter above the position.
const COUNTER_SHIFT: u32 = 8;

/// What looks and walks cost together, in one round.
struct Price {
    extra: Ticks,
    looks: Ticks,
    walks: Ticks,
}

#[derive(Default)]
#[repr(align(128))]
struct Apart<T>(T);

impl Rig {
    /// Looks at the other side's stack until it is through.
    pub(crate) fn look(&self, us: Ticks) {
        let settle = Costs::usual(us).change;
        let (mut due, mut last, mut walked, mut looked) = (0, 0, 0, 0);
        let deadline = ticks() + us * GIVE_UP_US;
        loop {
            let (now, phase) = (ticks(), self.phase.0.load(Acquire));
            if phase == OVER || now > deadline {
                return;
            }
            if phase == QUIET || now < due {
                spin_loop();
                continue;
            }
            let head = self.glimpse();
            if phase == HEADS {
                due = now + us * 2;
                add_one(&self.looks.0[0]);
            } else if head != last {
                if phase == DATES && counter(head) > counter(last) {
                    self.date(counter(last) + 1, looked, us);
                }
                (due, last) = (now + settle, head);
                add_one(&self.looks.0[0]);
            } else if phase == WALKS && head != walked {
                walked = head;
                self.walk();
                add_one(&self.looks.0[1]);
            }
            looked = now;
        }
    }

    /// A look that began at `looked` had not found this push.
    fn date(&self, push: u64, looked: Ticks, us: Ticks) {
        let pushed = self.pushed.0[push as usize % PUSHES].load(Relaxed);
        let delay = looked.saturating_sub(pushed);
        // Beyond a microsecond the calling side was interrupted between its clock and its store, or the push has no date.
        if delay <= us && delay > self.longest.0.load(Relaxed) {
            self.longest.0.store(delay, Relaxed);
        }
    }

    /// Calls, and finds what being looked at costs, and how late it is; [`Calibration::usual`] when nobody looks.
    pub(crate) fn measure(&self, us: Ticks) -> Calibration {
        let deadline = ticks() + us * GIVE_UP_US;
        let costs = self.costs(us, deadline).unwrap_or_else(|| Costs::usual(us));
        let delay = self.delay(us, deadline);
        self.phase.0.store(OVER, Release);
        Calibration { costs, delay }
    }

    fn costs(&self, us: Ticks, deadline: Ticks) -> Option<Costs> {
        let heads = self.price(HEADS, deadline, || {
            for _ in 0..16 {
                self.tree(7);
            }
        });
        let bursts = || {
            for _ in 0..BURSTS {
                self.frames(FRAMES - 1, Self::push);
            }
        };
        let changes = self.price(CHANGES, deadline, bursts);
        let walks = self.price(WALKS, deadline, bursts);
        let (heads, changes, walks) = (heads?, changes?, walks?);
        let head = heads.extra.checked_div(heads.looks)?;
        let change = changes.extra.checked_div(changes.looks)?;
        let stacks = walks.extra.saturating_sub(walks.looks * change);
        let line = stacks.checked_div(walks.walks * LINES)?;
        Some(Costs {
            head: head.clamp(us * 40 / 1000, us * 400 / 1000),
            change: change.clamp(us * 30 / 1000, us * 400 / 1000),
            line: line.clamp(us * 15 / 1000, us * 200 / 1000),
        })
    }

    /// The longest of many from a push to a look that finds it, between the usual and a microsecond.
    fn delay(&self, us: Ticks, deadline: Ticks) -> Ticks {
        self.phase.0.store(DATES, Release);
        for _ in 0..ROUNDS * BURSTS as usize {
            self.frames(FRAMES - 1, Self::push_dated);
            if ticks() > deadline {
                break;
            }
        }
        self.longest.0.load(Relaxed).clamp(Calibration::usual(us).delay, us)
    }

    /// What `work` takes longer when it is looked at, by the medians of rounds in turn.
    fn price(&self, looked_at: u32, deadline: Ticks, work: impl Fn()) -> Option<Price> {
        let mut took = [Vec::with_capacity(ROUNDS), Vec::with_capacity(ROUNDS)];
        let mut seen = [Vec::with_capacity(ROUNDS), Vec::with_capacity(ROUNDS)];
        let counts = || self.looks.0.each_ref().map(|count| count.load(Relaxed));
        for round in 0..ROUNDS {
            let phase = [QUIET, looked_at][round % 2];
            self.phase.0.store(phase, Release);
            // The other side hears of it, and the caches are as they will be.
            work();
            let (before, began) = (counts(), ticks());
            work();
            let now = ticks();
            took[round % 2].push(now.saturating_sub(began));
            if phase != QUIET {
                for (at, after) in counts().into_iter().enumerate() {
                    seen[at].push(Ticks::from(after.wrapping_sub(before[at])));
                }
            }
            if now > deadline {
                return None;
            }
        }
        let ([quiet, watched], [looks, walks]) = (took.map(median), seen.map(median));
        Some(Price { extra: watched.saturating_sub(quiet), looks, walks })
    }

    fn walk(&self) {
        for entry in &self.stack.0[..FRAMES as usize] {
            black_box(entry[1].load(Acquire));
        }
    }

    /// Position and counter as one number.
    fn glimpse(&self) -> u64 {
        let position = self.head.0[0].load(Acquire);
        self.head.0[1].load(Acquire) << COUNTER_SHIFT | position
    }

    /// As the pass has a frame begin.
    #[inline]
    fn push(&self) -> u64 {
        let [position, generation] = &self.head.0;
        let at = position.load(Relaxed);
        let counted = generation.load(Relaxed) + 1;
        generation.store(counted, Release);
        let entry = &self.stack.0[at as usize % self.stack.0.len()];
        entry[0].store(1, Release);
        entry[1].store(counted, Release);
        position.store(at + 1, Release);
        at
    }

    /// The same, and when that was.
    #[inline]
    fn push_dated(&self) -> u64 {
        let counted = self.head.0[1].load(Relaxed) + 1;
        self.pushed.0[counted as usize % PUSHES].store(ticks(), Relaxed);
        self.push()
    }

    #[inline]
    fn pop(&self, at: u64) {
        self.head.0[0].store(at, Release);
    }

    #[inline(never)]
    fn tree(&self, below: u32) {
        let at = self.push();
        for _ in 0..if below == 0 { 0 } else { 2 } {
            self.tree(below - 1);
        }
        self.pop(at);
    }

    #[inline(never)]
    fn frames(&self, below: u32, push: impl Fn(&Self) -> u64 + Copy) {
        let at = push(self);
        if below > 0 {
            self.frames(below - 1, push);
        } else {
            for turn in 0..REST {
                black_box(turn);
            }
        }
        self.pop(at);
    }
}

/// Of a glimpse.
const fn counter(head: u64) -> u64 {
    head >> COUNTER_SHIFT
}

fn add_one(count: &AtomicU32) {
    count.store(count.load(Relaxed).wrapping_add(1), Relaxed);
}

fn median(mut values: Vec<Ticks>) -> Ticks {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_and_a_delay_are_found_within_bounds_and_without_a_looker_they_are_the_usual_ones() {
        let us = crate::system::clock::ticks_per_us();
        assert_eq!(Rig::default().measure(us), Calibration::usual(us), "nobody looked");
        let rig = Rig::default();
        let Calibration { costs, delay } = std::thread::scope(|scope| {
            scope.spawn(|| rig.look(us));
            rig.measure(us)
        });
        assert!((us * 40 / 1000..=us * 400 / 1000).contains(&costs.head), "{costs:?}");
        assert!((us * 15 / 1000..=us * 200 / 1000).contains(&costs.line), "{costs:?}");
        assert!((us * 240 / 1000..=us).contains(&delay), "{delay} of {us}");
    }

    #[test]
    fn a_delay_is_the_longest_after_a_push_that_a_look_did_not_find_it_and_no_interruption() {
        let rig = Rig::default();
        rig.pushed.0[5].store(100, Relaxed);
        let found = [90, 350, 200, 1101].map(|looked| {
            rig.date(5, looked, 1000);
            rig.longest.0.load(Relaxed)
        });
        assert_eq!(found, [0, 250, 250, 250]);
    }

    #[test]
    fn a_dated_push_is_found_by_its_number() {
        let rig = Rig::default();
        let before = ticks();
        rig.frames(FRAMES - 1, Rig::push_dated);
        let dates: Vec<Ticks> = rig.pushed.0.iter().map(|date| date.load(Relaxed)).collect();
        let (first, others) = dates.split_first().expect("pushes");
        assert_eq!(*first, 0, "the first push has number one");
        let (made, not_made) = others.split_at(FRAMES as usize);
        assert!(made[0] >= before && made.is_sorted(), "{dates:?}");
        assert!(not_made.iter().all(|date| *date == 0), "{dates:?}");
    }

    #[test]
    fn calls_leave_the_stack_as_they_found_it() {
        let rig = Rig::default();
        rig.tree(3);
        rig.frames(FRAMES - 1, Rig::push);
        assert_eq!(rig.head.0.each_ref().map(|word| word.load(Relaxed)), [0, 15 + 20]);
    }
}
