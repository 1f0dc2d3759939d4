//! A thread's fans whose calls the crew makes.

use super::call::{Planned, Terms};
use super::crew::{Cargo, Leg, WayBack};
use super::home::{Countdown, FanKey};
use super::post::{Post, Sent};
use super::room::Lent;
use super::state::{AwayFans, State, Trip};
use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use tailwater_core::Instant;

/// The fans of one thread whose calls the crew makes.
pub(super) struct Away {
    post: Rc<Post>,
    /// Legs and fans so far.
    numbers: Cell<u64>,
    fans: Rc<AwayFans>,
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
        Self { post: Rc::new(post), numbers: Cell::new(0), fans: Rc::default() }
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
        let count = Arc::new(Countdown::new(state.least(), state.answers_max()));
        let way_back = WayBack { home: self.post.home.clone(), fan, count };
        state.leaves(Trip { post: self.post.clone(), fans: self.fans.clone(), key: fan });
        self.fans.add(fan, state.clone());
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

    /// All fans, which will not be awaited.
    pub(super) fn take_all(&self) -> HashMap<FanKey, Rc<State>> {
        self.fans.take_all()
    }

    /// Takes what the crew has brought, and takes back what is overdue. True if there was something.
    pub(super) fn collect(&self, time: Instant) -> bool {
        let mut found = false;
        while let Some(returned) = self.post.home.take() {
            found = true;
            // Otherwise it was given up meanwhile.
            if let Some(state) = self.fans.find(returned.fan) {
                state.end(returned.place, returned.outcome);
                if state.is_ended() {
                    self.fans.forget(returned.fan);
                }
            }
        }
        // All of the crew may be held by others.
        while let Some(fan) = self.fans.next_overdue(time) {
            found = true;
            let Some(state) = self.fans.find(fan) else { continue };
            state.expire(&self.post);
            if state.is_ended() {
                self.fans.forget(fan);
            }
        }
        found
    }

    /// When the first fan is overdue.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.fans.next_due()
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
