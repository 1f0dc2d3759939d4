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
//! the thread takes back is counted off as well, or the last outcome would be taken for one of several.

use super::state::Outcome;
use crate::bell::{Bell, Doorbell};
use crate::primitive::{AtomicUsize, Queue};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use tailwater_core::Instant;

/// Names one fan of a home: its deadline, and a number that no other has.
pub(crate) type FanKey = (Instant, u64);

pub(crate) struct Home {
    /// As many as there are calls under way, those among them that nobody awaits any more.
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
}

/// How many more outcomes a fan needs before anybody can go on by them.
pub(crate) struct Countdown(AtomicUsize);

impl Countdown {
    pub(super) fn new(outcomes: usize) -> Self {
        Self(AtomicUsize::new(outcomes))
    }

    /// One more is there, or will never come. True if no further one is needed.
    pub(super) fn count_off(&self) -> bool {
        // Rule 1: one order of all, and each sees what was pushed before the others. It stays at zero.
        self.0.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).unwrap_or(1) == 1
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
    use super::*;
    use crate::client::CallError;
    use crate::handover::Handover;
    use crate::staff::Staff;
    use loom::sync::Notify;
    use loom::thread;

    /// A ring stays until a sleep ends by it.
    #[derive(Clone)]
    struct Rings(Arc<Notify>);

    impl Rings {
        fn new() -> Self {
            Self(Arc::new(Notify::new()))
        }
    }

    impl Bell for Rings {
        fn ring(&self) {
            self.0.notify();
        }
    }

    fn model(work: impl Fn() + Sync + Send + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(work);
    }

    fn returned(place: usize) -> Returned {
        Returned { fan: (Instant::ZERO, 0), place, outcome: Err(CallError::TimedOut) }
    }

    /// Takes outcomes until there are so many. A lost ring is a deadlock, which loom tells.
    fn take(home: &Home, bell: &Rings, outcomes: usize) -> Vec<usize> {
        let mut found = Vec::new();
        while found.len() < outcomes {
            match home.take() {
                Some(it) => found.push(it.place),
                None => home.sleep(|| bell.0.wait()),
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
            let count = Arc::new(Countdown::new(2));
            let members = [0, 1].map(|place| {
                let (home, count) = (home.clone(), count.clone());
                thread::spawn(move || home.tell(returned(place), &count))
            });
            assert_eq!(take(&home, &bell, 2), [0, 1]);
            assert!(home.is_empty(), "each outcome is there once");
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
            let count = Arc::new(Countdown::new(2));
            let member = {
                let (home, count) = (home.clone(), count.clone());
                thread::spawn(move || home.tell(returned(0), &count))
            };
            count.count_off();
            assert_eq!(take(&home, &bell, 1), [0]);
            member.join().unwrap();
        });
    }

    /// The hand-over to a member that may be parked, and the way back. What is cancelled meanwhile is begun or it is not:
    /// in the one case the member is told, in the other it never begins.
    #[test]
    fn a_call_that_is_cancelled_on_its_way_to_a_parked_member_is_not_begun_or_its_member_is_told() {
        model(|| {
            let bell = Rings::new();
            let work = Arc::new((Staff::<u64>::new([bell.clone()]), Queue::new(), Queue::new()));
            let member = {
                let work = work.clone();
                thread::spawn(move || {
                    let (staff, legs, begun) = &*work;
                    loop {
                        let leg: Option<Arc<Handover>> = legs.pop();
                        if let Some(leg) = leg
                            && leg.take(0)
                        {
                            begun.push(());
                        }
                        if let Some(told) = staff.next_cancel(0) {
                            return told;
                        }
                        staff.rest(0, true, || !legs.is_empty(), || bell.0.wait());
                    }
                })
            };
            let (staff, legs, begun) = &*work;
            let leg = Arc::new(Handover::default());
            legs.push(leg.clone());
            staff.rouse();
            let taken = leg.cancel();
            // The end of the model is told in the same way: loom's sequentially consistent flags are weaker than real
            // ones, and `stop` is one.
            let word = if taken.is_some() { 7 } else { 0 };
            staff.cancel(taken.unwrap_or(0), word);
            assert_eq!(member.join().unwrap(), word);
            assert_eq!(begun.pop().is_some(), taken.is_some(), "begun once, or not at all");
        });
    }
}
