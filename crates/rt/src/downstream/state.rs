//! What a fan and its calls share.

mod away_fans;

pub(super) use away_fans::AwayFans;

use super::call::Outcome;
use super::home::FanKey;
use super::notes::{Notes, Then};
use super::post::{Post, Sent};
use crate::client::CallError;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::Waker;

/// Nothing of it is borrowed while foreign code runs.
pub(super) struct State {
    /// Where it leaves what its thread is to do.
    notes: Rc<Notes>,
    /// Empty once nothing of it is wanted any more.
    places: RefCell<Vec<Place>>,
    /// Calls that have not ended.
    open: Cell<usize>,
    /// Answers until there are enough.
    wanted: Cell<usize>,
    fails_fast: bool,
    waker: Cell<Option<Waker>>,
    /// Of a fan that nobody awaits.
    then: Cell<Option<Then>>,
    /// Bytes that its answers may have yet, of so many.
    answers_left: Cell<usize>,
    answers_max: usize,
    /// Of a fan whose calls the crew makes, until nobody awaits them.
    trip: Cell<Option<Trip>>,
}

/// How a fan's calls went to the crew.
pub(super) struct Trip {
    pub(super) post: Rc<Post>,
    /// Where the fan is found until it ends, by its key.
    pub(super) fans: Rc<AwayFans>,
    pub(super) key: FanKey,
}

enum Place {
    /// On its way. The shard and the thread's token, once the thread has taken it.
    Open(Option<(usize, u64)>),
    /// On its way with the crew.
    Away(Sent),
    Ended(Outcome),
}

impl Place {
    const fn is_open(&self) -> bool {
        matches!(self, Self::Open(_) | Self::Away(_))
    }
}

impl State {
    /// Of so many calls, of which `enough` answers are enough, and whose answers have so many bytes together.
    pub(super) fn new(
        notes: Rc<Notes>,
        (calls, enough): (usize, usize),
        fails_fast: bool,
        answers_max: usize,
    ) -> Self {
        Self {
            notes,
            places: RefCell::new((0..calls).map(|_| Place::Open(None)).collect()),
            open: Cell::new(calls),
            wanted: Cell::new(enough),
            fails_fast,
            waker: Cell::new(None),
            then: Cell::new(None),
            answers_left: Cell::new(answers_max),
            answers_max,
            trip: Cell::new(None),
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.is_ended() || self.wanted.get() == 0
    }

    /// All calls have ended.
    pub(super) const fn is_ended(&self) -> bool {
        self.open.get() == 0
    }

    /// So many outcomes must be there before the fan can be done.
    pub(super) fn least(&self) -> usize {
        if self.fails_fast { 1 } else { self.wanted.get().min(self.open.get()) }
    }

    /// Bytes that its answers may have together.
    pub(super) const fn answers_max(&self) -> usize {
        self.answers_max
    }

    /// Sets what is woken when the fan is done; returns what was to be woken so far.
    pub(super) fn set_waker(&self, waker: Option<Waker>) -> Option<Waker> {
        self.waker.replace(waker)
    }

    /// Says what hears of the outcomes. From now on nobody awaits them.
    pub(super) fn tell(&self, then: Then) {
        self.then.set(Some(then));
        if self.is_done() {
            self.finish();
        }
    }

    /// The thread has taken a call on, by this token. False if its outcome is not wanted any more.
    pub(super) fn take_on(&self, place: usize, shard: usize, token: u64) -> bool {
        let mut places = self.places.borrow_mut();
        let Some(Place::Open(taken)) = places.get_mut(place) else { return false };
        *taken = Some((shard, token));
        true
    }

    /// The crew is about to have a call.
    pub(super) fn send(&self, place: usize, sent: Sent) {
        self.places.borrow_mut()[place] = Place::Away(sent);
    }

    /// The crew is about to have the calls.
    pub(super) fn leaves(&self, trip: Trip) {
        self.trip.set(Some(trip));
    }

    /// One call has ended; nothing if its outcome is not wanted any more.
    pub(super) fn end(&self, place: usize, outcome: Outcome) {
        if let Some(place) = self.places.borrow_mut().get_mut(place)
            && place.is_open()
        {
            self.open.set(self.open.get() - 1);
            let outcome = self.bounded(outcome);
            let wanted = match outcome {
                Ok(_) => self.wanted.get().saturating_sub(1),
                Err(_) if self.fails_fast => 0,
                Err(_) => self.wanted.get(),
            };
            self.wanted.set(wanted);
            *place = Place::Ended(outcome);
        }
        if self.is_done() {
            self.finish();
        }
    }

    /// It is done: what awaits that is woken in this turn, or told.
    fn finish(&self) {
        if let Some(waker) = self.waker.take() {
            self.notes.will_wake(waker);
        }
        if let Some(then) = self.then.take() {
            self.notes.will_tell(then, self.take());
        }
    }

    /// An answer for whose bytes there is no room any more is not kept.
    fn bounded(&self, outcome: Outcome) -> Outcome {
        let bytes = outcome.as_ref().map_or(0, |answer| answer.payload.len());
        let Some(left) = self.answers_left.get().checked_sub(bytes) else {
            return Err(CallError::AnswersTooLong { most: self.answers_max });
        };
        self.answers_left.set(left);
        outcome
    }

    /// The deadline has passed: what no member of the crew has begun is taken back. What one has, it ends by itself, and
    /// knows whether it was sent.
    pub(super) fn expire(&self, post: &Post) {
        let places = self.places.borrow().len();
        for place in 0..places {
            let sent = match self.places.borrow().get(place) {
                Some(Place::Away(sent)) => Some(sent.clone()),
                _ => None,
            };
            if sent.is_some_and(|sent| post.revoke(&sent)) {
                self.end(place, Err(CallError::Expired));
            }
        }
    }

    /// The outcomes. What has not ended is given up, and its outcome not wanted any more: nothing is left the next time.
    pub(super) fn take(&self) -> Vec<Outcome> {
        let trip = self.trip.take();
        let outcome = |place: Place| {
            match place {
                Place::Ended(outcome) => return outcome,
                Place::Open(Some((shard, token))) => self.notes.give_up(shard, token),
                Place::Open(None) => {}
                // It drops arguments, which may be foreign.
                Place::Away(sent) => trip.iter().for_each(|trip| trip.post.recall(&sent)),
            }
            Err(CallError::NotAwaited)
        };
        let outcomes = self.places.take().into_iter().map(outcome).collect();
        if let Some(Trip { fans, key, .. }) = trip {
            // Last: it may be the last but one that knows of this.
            fans.forget(key);
        }
        outcomes
    }
}
