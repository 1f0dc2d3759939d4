//! A thread's fans whose calls the crew makes.

use super::call::{Planned, Terms};
use super::crew::{Cargo, Crew, Leg, WayBack};
use super::home::{Countdown, Home};
use super::room::Lent;
use super::state::State;
use crate::bell::Doorbell;
use crate::poll::EventBell;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;
use tailwater_core::Instant;

pub(super) use super::home::FanKey;

/// The crew, and where a thread hears from it.
pub(crate) struct Post {
    crew: Arc<Crew>,
    home: Arc<Home>,
    /// The thread's number among all that have handlers.
    number: usize,
}

impl Post {
    /// `thread` ends the thread's sleep, and `held` its sleep while a handler holds it.
    pub(super) fn new(
        crew: Arc<Crew>,
        thread: Arc<Doorbell>,
        held: EventBell,
        number: usize,
    ) -> Self {
        Self { crew, home: Arc::new(Home::new(thread, held)), number }
    }
}

/// The fans of one thread whose calls the crew makes.
pub(super) struct Away {
    post: Post,
    /// Legs and fans so far.
    numbers: Cell<u64>,
    /// Those whose calls have not all ended: as many as there is room for calls, at most.
    fans: RefCell<HashMap<FanKey, Rc<State>>>,
    /// Those of them whose deadline has not passed, by that.
    due: RefCell<BTreeSet<FanKey>>,
}

/// One call that the crew has, or is about to.
#[derive(Clone)]
pub(super) struct Sent {
    leg: Arc<Leg>,
    count: Arc<Countdown>,
}

/// Calls of one fan that are about to leave.
pub(super) struct Parcel {
    pub(super) terms: Terms,
    /// With the fan's place of each, and its room.
    pub(super) calls: Vec<(usize, Planned, Lent)>,
    /// Each call goes by itself.
    pub(super) forks: bool,
}

impl Away {
    pub(super) fn new(post: Post) -> Self {
        Self { post, numbers: Cell::new(0), fans: RefCell::default(), due: RefCell::default() }
    }

    fn number(&self) -> u64 {
        self.numbers.replace(self.numbers.get() + 1)
    }

    /// Leaves a fan's calls to the crew.
    pub(super) fn send(&self, state: &Rc<State>, parcel: Parcel) {
        let Parcel { terms, calls, forks } = parcel;
        if calls.is_empty() {
            return;
        }
        let fan = (terms.deadline, self.number());
        let count = Arc::new(Countdown::new(state.least()));
        let way_back = WayBack { home: self.post.home.clone(), fan, count };
        state.is_away_as(fan);
        self.fans.borrow_mut().insert(fan, state.clone());
        self.due.borrow_mut().insert(fan);
        let size = if forks { 1 } else { calls.len() };
        let mut calls = calls.into_iter();
        while calls.len() > 0 {
            let calls: Vec<_> = calls.by_ref().take(size).collect();
            let places: Vec<_> = calls.iter().map(|(place, ..)| *place).collect();
            let way_back = way_back.clone();
            let count = way_back.count.clone();
            let cargo = Cargo { calls, terms, way_back, is_alone: forks };
            let leg = Arc::new(Leg::new((self.post.number, self.number()), cargo));
            for place in places {
                state.send(place, Sent { leg: leg.clone(), count: count.clone() });
            }
            self.post.crew.push(leg);
        }
    }

    /// Takes back a call that is not wanted any more, nor any other of its leg.
    pub(super) fn recall(&self, sent: &Sent) {
        self.post.crew.recall(&sent.leg);
    }

    /// Takes a call back, and with it all of its leg. False if a member has begun it.
    pub(super) fn revoke(&self, sent: &Sent) -> bool {
        let is_back = self.post.crew.revoke(&sent.leg);
        if is_back {
            // No ring: this is the home's own thread, which looks once more before it sleeps.
            sent.count.count_off();
        }
        is_back
    }

    pub(super) fn forget(&self, fan: FanKey) {
        self.due.borrow_mut().remove(&fan);
        self.fans.borrow_mut().remove(&fan);
    }

    /// All fans, which will not be awaited.
    pub(super) fn take_all(&self) -> HashMap<FanKey, Rc<State>> {
        self.fans.take()
    }

    /// Takes what the crew has brought, and takes back what is overdue. True if there was something.
    pub(super) fn collect(&self, time: Instant) -> bool {
        let mut found = false;
        while let Some(returned) = self.post.home.take() {
            found = true;
            let state = self.fans.borrow().get(&returned.fan).cloned();
            // Otherwise it was given up meanwhile.
            if let Some(state) = state {
                state.end(returned.place, returned.outcome);
                if state.is_ended() {
                    self.forget(returned.fan);
                }
            }
        }
        // All of the crew may be held by others.
        while let Some(fan) = self.next_overdue(time) {
            found = true;
            let state = self.fans.borrow().get(&fan).cloned();
            let Some(state) = state else { continue };
            state.expire();
            if state.is_ended() {
                self.forget(fan);
            }
        }
        found
    }

    fn next_overdue(&self, time: Instant) -> Option<FanKey> {
        let mut due = self.due.borrow_mut();
        due.first().filter(|(deadline, _)| *deadline <= time)?;
        due.pop_first()
    }

    /// When the first fan is overdue.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.due.borrow().first().map(|&(deadline, _)| deadline)
    }

    /// The crew has brought something.
    pub(super) fn has_returned(&self) -> bool {
        !self.post.home.is_empty()
    }

    /// Sleeps while a handler holds the thread, unless something was brought.
    pub(super) fn sleep<T: Default>(&self, sleep: impl FnOnce() -> T) -> T {
        self.post.home.sleep(sleep)
    }
}
