//! Where a thread gets back what the crew has made of its handlers' calls.
//!
//! # The protocol
//!
//! 1. A member that has an outcome pushes it, then counts it off the fan's countdown. The member that finds that no
//!    more are needed rings for the home's thread, and so does each after it.
//! 2. The home's thread takes what is there in each of its turns, and looks once more before it sleeps.
//!
//! A countdown is changed by read-modify-writes, so the one that ends it comes after all others, whose outcomes it makes
//! visible by its ring. It rings by the rules of [`crate::bell`]: the thread that sleeps then is woken, and finds them all.
//! Outcomes before that wait for the thread, at most until it is woken for the last: nobody could go on by them. A call that
//! the thread takes back is counted off as well, or the last outcome would be taken for one of several. Answers that wait have
//! no more bytes than those of a fan may have.

use super::call::Outcome;
use super::room::Lent;
use crate::bell::{Bell, Doorbell};
use crate::client::CallError;
use crate::primitive::{AtomicUsize, Queue};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use tailwater_core::Instant;

/// Names one fan of a home: its deadline, and a number that no other has.
pub(crate) type FanKey = (Instant, u64);

pub(crate) struct Home {
    /// Each holds the room of its call, those among them that nobody awaits any more.
    returned: Queue<Returned>,
    /// Ends the thread's sleep between two handlers.
    thread: Arc<Doorbell>,
    /// Ends its sleep while a handler holds it.
    held: Doorbell,
}

/// A call's end, on its way to the thread whose handler awaits it.
pub(crate) struct Returned {
    pub(super) fan: FanKey,
    pub(super) place: usize,
    pub(super) outcome: Outcome,
    /// Given back when the outcome is taken.
    pub(super) _room: Lent,
}

/// How many more outcomes a fan needs before anybody can go on by them, and what its answers may bring.
pub(crate) struct Countdown {
    outcomes: AtomicUsize,
    /// Bytes that its answers may have yet, of so many.
    answers_left: AtomicUsize,
    answers_max: usize,
}

impl Countdown {
    /// `answers_max`: bytes that its answers may have together.
    pub(super) fn new(outcomes: usize, answers_max: usize) -> Self {
        let [outcomes, answers_left] = [outcomes, answers_max].map(AtomicUsize::new);
        Self { outcomes, answers_left, answers_max }
    }

    /// An answer for whose bytes there is no room any more is not kept. The thread would drop it only once it is rung for
    /// the last one.
    pub(super) fn bounded(&self, outcome: Outcome) -> Outcome {
        let bytes = outcome.as_ref().map_or(0, |answer| answer.payload.len());
        let less = |left: usize| left.checked_sub(bytes);
        // Relaxed: a bound on a number; nothing else is read because of it.
        if bytes > 0 && self.answers_left.fetch_update(Relaxed, Relaxed, less).is_err() {
            return Err(CallError::AnswersTooLong { most: self.answers_max });
        }
        outcome
    }

    /// One more is there, or will never come. True if no further one is needed.
    pub(super) fn count_off(&self) -> bool {
        let less = |left: usize| left.checked_sub(1);
        // Rule 1: one order of all, and each sees what was pushed before the others. It stays at zero.
        self.outcomes.fetch_update(SeqCst, SeqCst, less).unwrap_or(1) == 1
    }
}

impl Home {
    pub(super) fn new(thread: Arc<Doorbell>, held: impl Bell + 'static) -> Self {
        Self { returned: Queue::new(), thread, held: Doorbell::new(Box::new(held)) }
    }

    /// A member has an outcome.
    pub(super) fn tell(&self, returned: Returned, count: &Countdown) {
        self.returned.push(returned);
        if count.count_off() {
            // Both: a loop whose wait would have been no sleep goes on with its doorbell set.
            self.thread.notify();
            self.held.notify();
        }
    }

    pub(super) fn take(&self) -> Option<Returned> {
        self.returned.pop()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.returned.is_empty()
    }

    /// The thread sleeps while a handler holds it, unless something is there.
    pub(super) fn sleep<T: Default>(&self, sleep: impl FnOnce() -> T) -> T {
        self.held.lie_down();
        let slept = if self.is_empty() { sleep() } else { T::default() };
        self.held.get_up();
        slept
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::super::room::Room;
    use super::*;
    use crate::models::{Rings, model};
    use loom::thread;

    fn returned(place: usize, room: &Room) -> Returned {
        let (outcome, lent) = (Err(CallError::TimedOut), room.lend(0).expect("there is room"));
        Returned { fan: (Instant::ZERO, 0), place, outcome, _room: lent }
    }

    /// Takes outcomes until there are so many. A lost ring is a deadlock, which loom tells.
    fn take(home: &Home, bell: &Rings, outcomes: usize) -> Vec<usize> {
        let mut found = Vec::new();
        while found.len() < outcomes {
            match home.take() {
                Some(it) => found.push(it.place),
                None => home.sleep(|| bell.wait()),
            }
        }
        found.sort_unstable();
        found
    }

    #[test]
    fn a_thread_that_is_held_is_woken_for_the_last_of_two_outcomes() {
        model(|| {
            let bell = Rings::new();
            let thread = Arc::new(Doorbell::new(Box::new(Rings::new())));
            let home = Arc::new(Home::new(thread, bell.clone()));
            let count = Arc::new(Countdown::new(2, 0));
            let room = Room::new(2, 1);
            let members = [0, 1].map(|place| {
                let (home, count, it) = (home.clone(), count.clone(), returned(place, &room));
                thread::spawn(move || home.tell(it, &count))
            });
            assert_eq!(take(&home, &bell, 2), [0, 1]);
            assert!(home.is_empty(), "each outcome is there once");
            let again = [(); 2].map(|()| room.lend(0).is_some());
            assert_eq!(again, [true; 2], "with its outcome each call's room is back");
            members.into_iter().for_each(|it| it.join().unwrap());
        });
    }

    /// At the deadline the thread takes back what no member has begun. The outcome of what one has begun is the last then.
    #[test]
    fn a_thread_is_woken_for_the_last_outcome_though_it_took_the_other_call_back() {
        model(|| {
            let bell = Rings::new();
            let thread = Arc::new(Doorbell::new(Box::new(Rings::new())));
            let home = Arc::new(Home::new(thread, bell.clone()));
            let count = Arc::new(Countdown::new(2, 0));
            let member = {
                let (home, count) = (home.clone(), count.clone());
                let it = returned(0, &Room::new(1, 1));
                thread::spawn(move || home.tell(it, &count))
            };
            count.count_off();
            assert_eq!(take(&home, &bell, 1), [0]);
            member.join().unwrap();
        });
    }
}
