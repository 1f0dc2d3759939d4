//! Callers that wait for an answer: where the call of each is, and until when it waits.

use super::alarms::Alarms;
use super::answer::{Answer, CallError};
use super::event::NewCall;
use super::slots::Slots;
use tailwater_control::retry::{Lateness, Tries};
use tailwater_core::{Instant, RequestId};

/// What waits for the answer to one call: it hears of the call's end once. Dropped without it, it says that
/// the call was lost, so that nothing waits for ever.
pub(crate) trait Fill {
    /// The call is taken on under this token: false if no answer is wanted any more.
    fn take_on(&self, token: u64) -> bool;

    /// Whether the call may wait for a connection after one was lost.
    fn awaits_connection(&self) -> bool {
        true
    }

    /// Whether the call may be carried out twice.
    fn may_run_twice(&self) -> bool {
        false
    }

    /// Whether an answer still counts. False for the calls of a fan that has enough.
    fn is_wanted(&self) -> bool {
        true
    }

    /// The call has ended.
    fn fill(self, outcome: Result<Answer, CallError>);
}

/// Callers by token. Their calls bound how many there are: those at the desk, waiting in a channel, or
/// outstanding.
pub(super) struct Callers<F> {
    slots: Slots<Caller<F>>,
    /// Callers that do not wait for a connection after one was lost.
    hasty: usize,
    deadlines: Alarms,
    /// When calls have waited long enough for credit where they are.
    patience: Alarms,
    /// When calls want a second try.
    lateness: Alarms,
}

impl<F> Default for Callers<F> {
    fn default() -> Self {
        let [deadlines, patience, lateness] = [(); 3].map(|()| Alarms::default());
        Self { slots: Slots::default(), hasty: 0, deadlines, patience, lateness }
    }
}

/// One call, wherever it is.
pub(super) struct Caller<F> {
    filler: F,
    pub(super) deadline: Option<Instant>,
    pub(super) tries: Tries,
    pub(super) place: Place,
    /// When it wants to leave for another replica.
    patience: Option<Instant>,
    /// It wanted to leave, but could go nowhere.
    pub(super) is_impatient: bool,
    /// What it needs for a second try; `None` where that may not be. Apart, since few calls have it.
    hedge: Option<Box<Hedge>>,
}

/// A call that may be tried at two replicas at once.
struct Hedge {
    began: Instant,
    /// When it is late, and what is sent then.
    copy: Option<(Lateness, NewCall)>,
    /// Where its second try is.
    second: Option<Place>,
    /// Of its two tries one has failed, and may have been carried out.
    may_have_run: bool,
}

impl<F: Fill> Caller<F> {
    pub(super) fn awaits_connection(&self) -> bool {
        self.filler.awaits_connection()
    }

    pub(super) fn may_run_twice(&self) -> bool {
        self.filler.may_run_twice()
    }

    pub(super) fn is_wanted(&self) -> bool {
        self.filler.is_wanted()
    }

    /// One of its tries has failed, which may have been carried out; the other goes on.
    pub(super) fn may_have_run(&mut self) {
        if let Some(hedge) = &mut self.hedge {
            hedge.may_have_run = true;
        }
    }

    /// What is told of the failure of its last try.
    fn told(&self, error: CallError) -> CallError {
        let may_have_run = self.hedge.as_ref().is_some_and(|hedge| hedge.may_have_run);
        if may_have_run && error.denies_execution() { CallError::Disconnected } else { error }
    }

    /// Where its tries are.
    pub(super) fn places(&self) -> Places {
        Places { first: self.place, second: self.hedge.as_ref().and_then(|hedge| hedge.second) }
    }

    /// When it began, if it may be tried twice.
    pub(super) fn began(&self) -> Option<Instant> {
        self.hedge.as_ref().map(|hedge| hedge.began)
    }

    /// The try at a replica has failed. True if there is another, which goes on alone.
    pub(super) fn goes_on_without(&mut self, replica: usize) -> bool {
        let Some(second) = self.hedge.as_mut().and_then(|hedge| hedge.second.take()) else {
            return false;
        };
        if self.place.replica == replica {
            (self.place, self.patience, self.is_impatient) = (second, None, false);
        }
        true
    }
}

/// Where a call is: its replica, and its number there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Place {
    pub(super) replica: usize,
    pub(super) id: RequestId,
}

/// Where the tries of a call are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Places {
    pub(super) first: Place,
    pub(super) second: Option<Place>,
}

impl Places {
    pub(super) fn each(self) -> impl Iterator<Item = Place> {
        [Some(self.first), self.second].into_iter().flatten()
    }
}

impl<F: Fill> Callers<F> {
    /// A call without a place yet: `None` if its caller has given it up.
    pub(super) fn add(&mut self, deadline: Option<Instant>, filler: F) -> Option<u64> {
        let (tries, place) = (Tries::NONE, Place::default());
        let (patience, is_impatient, hedge) = (None, false, None);
        let caller = Caller { filler, deadline, tries, place, patience, is_impatient, hedge };
        let is_hasty = !caller.awaits_connection();
        let token = self.slots.insert(caller);
        if !self.slots.get(token).is_some_and(|caller| caller.filler.take_on(token)) {
            self.slots.remove(token);
            return None;
        }
        self.hasty += usize::from(is_hasty);
        if let Some(at) = deadline {
            let slots = &self.slots;
            self.deadlines.add(at, token, slots.len(), |_, token| slots.get(token).is_some());
        }
        Some(token)
    }

    /// The call went to this place, and wants to leave it then.
    pub(super) fn place(&mut self, token: u64, place: Place, patience: Option<Instant>) {
        let Some(caller) = self.slots.get_mut(token) else { return };
        (caller.place, caller.patience, caller.is_impatient) = (place, patience, false);
        if let Some(at) = patience {
            let slots = &self.slots;
            let waits = |at, token| slots.get(token).is_some_and(|it| it.patience == Some(at));
            self.patience.add(at, token, slots.len(), waits);
        }
    }

    /// The call may be tried twice. It is late at `copy`'s time, if that is known.
    pub(super) fn may_hedge(
        &mut self,
        token: u64,
        began: Instant,
        copy: Option<(Lateness, NewCall)>,
    ) {
        let Some(caller) = self.slots.get_mut(token) else { return };
        let late = copy.as_ref().map(|(late, _)| late.at());
        caller.hedge = Some(Box::new(Hedge { began, copy, second: None, may_have_run: false }));
        if let Some(at) = late {
            self.look_at(at, token);
        }
    }

    /// Whether the call is late is to be looked at then.
    fn look_at(&mut self, at: Instant, token: u64) {
        let slots = &self.slots;
        self.lateness.add(at, token, slots.len(), |_, token| slots.get(token).is_some());
    }

    /// A call that is late, and what its second try sends.
    pub(super) fn next_late(&mut self, now: Instant) -> Option<(u64, NewCall)> {
        while let Some((_, token)) = self.lateness.next_due(now) {
            let hedge = self.slots.get_mut(token).and_then(|caller| caller.hedge.as_mut());
            let Some(hedge) = hedge else { continue };
            let Some((late, _)) = &mut hedge.copy else { continue };
            if let Some(again) = late.look(now) {
                self.look_at(again, token);
            } else if let Some((_, call)) = hedge.copy.take() {
                return Some((token, call));
            }
        }
        None
    }

    /// The second try of a call went there.
    pub(super) fn place_second(&mut self, token: u64, place: Place) {
        let hedge = self.slots.get_mut(token).and_then(|caller| caller.hedge.as_mut());
        if let Some(hedge) = hedge {
            hedge.second = Some(place);
        }
    }

    pub(super) fn get(&self, token: u64) -> Option<&Caller<F>> {
        self.slots.get(token)
    }

    pub(super) fn get_mut(&mut self, token: u64) -> Option<&mut Caller<F>> {
        self.slots.get_mut(token)
    }

    /// The calls for which this holds.
    pub(super) fn which(&self, holds: impl Fn(&Caller<F>) -> bool) -> Vec<u64> {
        let all = self.slots.iter().filter(|(_, caller)| holds(caller));
        all.map(|(token, _)| token).collect()
    }

    /// Whether some call does not wait for a connection after one was lost.
    pub(super) const fn has_hasty(&self) -> bool {
        self.hasty > 0
    }

    fn remove(&mut self, token: u64) -> Option<Caller<F>> {
        let caller = self.slots.remove(token)?;
        self.hasty -= usize::from(!caller.awaits_connection());
        Some(caller)
    }

    /// The end of a call; nothing if it had ended before.
    pub(super) fn fill(&mut self, token: u64, answer: Result<Answer, CallError>) {
        if let Some(caller) = self.remove(token) {
            let answer = answer.map_err(|error| caller.told(error));
            caller.filler.fill(answer);
        }
    }

    /// The caller wants no answer any more: where its call is.
    pub(super) fn forget(&mut self, token: u64) -> Option<Places> {
        self.remove(token).map(|caller| caller.places())
    }

    /// A call whose deadline has passed, and where it is.
    pub(super) fn next_timed_out(&mut self, now: Instant) -> Option<(u64, Places)> {
        while let Some((_, token)) = self.deadlines.next_due(now) {
            if let Some(caller) = self.slots.get(token) {
                return Some((token, caller.places()));
            }
        }
        None
    }

    /// A call that has waited long enough for credit where it is.
    pub(super) fn next_impatient(&mut self, now: Instant) -> Option<u64> {
        while let Some((at, token)) = self.patience.next_due(now) {
            if let Some(caller) = self.slots.get_mut(token).filter(|it| it.patience == Some(at)) {
                caller.is_impatient = true;
                return Some(token);
            }
        }
        None
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let all = [&self.deadlines, &self.patience, &self.lateness];
        all.into_iter().filter_map(Alarms::next_deadline).min()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::slot::{Filler, Slot};
    use super::*;
    use std::sync::Arc;

    fn at(ns: u64) -> Instant {
        Instant::from_nanos(ns)
    }

    #[test]
    fn a_deadline_is_told_once() {
        let mut callers = Callers::<Filler>::default();
        let slot = Arc::new(Slot::default());
        let token = callers.add(Some(at(5)), Filler::new(slot.clone())).expect("it is wanted");
        let place = Place { replica: 1, id: RequestId(9) };
        callers.place(token, place, None);
        assert_eq!((callers.next_deadline(), callers.next_timed_out(at(4))), (Some(at(5)), None));
        let places = Places { first: place, second: None };
        assert_eq!(callers.next_timed_out(at(5)), Some((token, places)));
        callers.fill(token, Err(CallError::TimedOut));
        assert_eq!(slot.wait(), Err(CallError::TimedOut));
        assert_eq!((callers.next_timed_out(at(9)), callers.next_deadline()), (None, None));
    }

    #[test]
    fn patience_counts_for_the_place_where_a_call_is_now() {
        let mut callers = Callers::<Filler>::default();
        let token = callers.add(None, Filler::new(Arc::default())).expect("it is wanted");
        callers.place(token, Place::default(), Some(at(5)));
        callers.place(token, Place { replica: 1, id: RequestId(2) }, Some(at(8)));
        assert_eq!(callers.next_impatient(at(7)), None);
        assert_eq!(callers.next_impatient(at(8)), Some(token));
        assert_eq!(callers.which(|caller| caller.is_impatient), [token]);
    }
}
