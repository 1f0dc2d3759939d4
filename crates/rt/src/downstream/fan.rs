//! Calls that are awaited together.

use super::Tier;
use super::away::Parcel;
use super::call::{Outcome, Planned, Terms};
use super::part::{Owner, Part};
use super::room::Lent;
use super::state::State;
use crate::client::{CallError, Order};
use bytes::Bytes;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use tailwater_core::{Instant, MethodId};

/// Most calls of one fan; further ones end as [`CallError::QueueFull`].
pub const CALLS_MAX: usize = 1_024;

/// Calls to the shards of a tier that a handler awaits together: their outcomes, in the order in which they
/// were added. They are made when the fan is first polled.
///
/// Their answers have [`TierConfig::answers_max`](super::TierConfig::answers_max) bytes together. One that comes beyond that is
/// dropped at once, and its call ends as [`CallError::AnswersTooLong`].
///
/// Every call ends by the fan's deadline, which is the request's own unless [`Fan::by`] says an earlier one. Nothing of it is
/// kept back for merging: how long that takes the handler alone knows, and a guess would end calls that are in time. One that
/// answers in part when its time is nearly over calls `by` with its deadline less that time.
///
/// Dropping the fan gives up what has not ended: what was not sent is
/// taken back, and servers are told to end what was.
///
/// Under a synchronous [`Completion`](tailwater_core::threads::Completion) its first poll holds the thread until the fan is
/// done: a handler that polls several fans at once has their answers one after the other, and what it polls beside them
/// comes too late.
#[must_use = "calls are made when the fan is awaited"]
pub struct Fan {
    tier: Tier,
    terms: Terms,
    enough: usize,
    fails_fast: bool,
    phase: Phase,
}

enum Phase {
    Planned(Vec<Planned>),
    Made(Rc<State>),
}

impl Fan {
    pub(super) const fn new(tier: Tier, terms: Terms) -> Self {
        let phase = Phase::Planned(Vec::new());
        Self { tier, terms, enough: usize::MAX, fails_fast: false, phase }
    }

    /// Adds a call to one shard, from 0.
    ///
    /// # Panics
    /// When the tier has no such shard, and after the fan was polled: both are mistakes of the program.
    pub fn call(mut self, shard: usize, method: u16, payload: impl Into<Bytes>) -> Self {
        let shards = self.tier.shards;
        assert!(shard < shards, "shard {shard} was asked for, and the tier has {shards}");
        let Phase::Planned(planned) = &mut self.phase else {
            panic!("a call was added to a fan that was polled already");
        };
        let shard = self.tier.first + shard;
        planned.push(Planned { shard, method: MethodId(method), payload: payload.into() });
        self
    }

    /// Adds a call to each shard; all share the arguments.
    ///
    /// # Panics
    /// After the fan was polled.
    pub fn call_all(self, method: u16, payload: impl Into<Bytes>) -> Self {
        let payload = payload.into();
        (0..self.tier.shards).fold(self, |fan, shard| fan.call(shard, method, payload.clone()))
    }

    /// Ends every call by then, if that is before the request's own deadline, or 10 s where it has none.
    pub fn by(mut self, deadline: Instant) -> Self {
        self.terms.deadline = self.terms.deadline.min(deadline);
        self
    }

    /// Has no call wait for a connection that was lost: one to a server that is not reached ends as
    /// [`CallError::Disconnected`] at once, as those that are on their way there do. Until a first attempt has failed it
    /// waits.
    pub const fn reached_only(mut self) -> Self {
        self.terms.reached_only = true;
        self
    }

    /// Says that the calls may be carried out twice, as reads may. One that is late is then sent to a second replica, too, as
    /// [`TierConfig::hedge`](super::TierConfig::hedge) says. Whichever answers first counts, and the other is cancelled. Without
    /// this, or without that, nothing is sent twice.
    pub const fn hedged(mut self) -> Self {
        self.terms.hedged = true;
        self
    }

    /// Is done as soon as so many calls were answered; the others are given up and end as
    /// [`CallError::NotAwaited`]. Where that many cannot be answered any more, it waits for the end of all.
    pub const fn enough(mut self, answers: usize) -> Self {
        self.enough = answers;
        self
    }

    /// Is done as soon as one call was not answered; the others are given up as above.
    pub const fn fail_fast(mut self) -> Self {
        self.fails_fast = true;
        self
    }

    /// Makes the calls, and lets the handler go on and end before them. They end by `deadline`, whatever the request's
    /// own is. `then` has the outcomes, on this thread, in a turn between two handlers, or while one holds the thread. It has no
    /// request's budget at locks. Where the server ends before, it may be dropped without a call. No
    /// [`Completion`](tailwater_core::threads::Completion) holds the thread for them.
    ///
    /// # Panics
    /// After the fan was polled.
    pub fn detach(mut self, deadline: Instant, then: impl FnOnce(Vec<Outcome>) + 'static) {
        self.terms.deadline = deadline;
        let Phase::Planned(planned) = &mut self.phase else {
            panic!("a fan was detached that was polled already");
        };
        let planned = std::mem::take(planned);
        self.make(planned).tell(Box::new(then));
    }

    /// Leaves the calls to the thread, or to the crew.
    fn make(&self, planned: Vec<Planned>) -> Rc<State> {
        let Self { tier, terms, enough, fails_fast, .. } = self;
        let desk = &tier.desk;
        let calls = (planned.len(), *enough);
        let state = Rc::new(State::new(desk.notes().clone(), calls, *fails_fast, tier.answers_max));
        let completion = desk.completion();
        let planned = planned.into_iter().enumerate();
        if let Some(away) = desk.away().filter(|_| completion.crew() > 0) {
            let room = |(place, planned)| self.lend(&state, place, planned);
            let calls = planned.filter_map(room).collect();
            away.send(&state, Parcel { terms: *terms, calls, forks: completion.is_sync() });
        } else {
            planned.for_each(|(place, planned)| self.order(&state, place, planned));
        }
        state
    }
}

impl Fan {
    /// Room for a call of the crew. Without it the call ends.
    fn lend(
        &self,
        state: &State,
        place: usize,
        planned: Planned,
    ) -> Option<(usize, Planned, Lent)> {
        let room = self.tier.room.lend(planned.payload.len()).filter(|_| place < CALLS_MAX);
        if room.is_none() {
            state.end(place, Err(CallError::QueueFull));
        }
        Some((place, planned, room?))
    }

    /// Leaves a call to the thread. Without room it ends.
    fn order(&self, state: &Rc<State>, place: usize, planned: Planned) {
        let room = self.tier.room.take(planned.payload.len()).filter(|_| place < CALLS_MAX);
        let Some(held) = room else { return state.end(place, Err(CallError::QueueFull)) };
        let shard = planned.shard;
        let owner = Owner::Fan(state.clone(), held);
        let filler = Part::new(owner, place, shard, &self.terms);
        self.tier.desk.order(shard, Order { call: self.terms.of(planned), filler });
    }
}

impl Future for Fan {
    type Output = Vec<Outcome>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // Foreign code, which may panic: ahead of every change.
        let waker = context.waker().clone();
        let state = match &mut self.phase {
            Phase::Made(state) => {
                // What this drops may be foreign, too.
                drop(state.set_waker(Some(waker)));
                state.clone()
            }
            Phase::Planned(planned) => {
                let planned = std::mem::take(planned);
                let state = self.make(planned);
                drop(state.set_waker(Some(waker)));
                self.phase = Phase::Made(state.clone());
                // Only here: one that was made before the model changed goes on as it was begun.
                if self.tier.desk.completion().is_sync() {
                    // No wake-up is needed meanwhile: the handler is being polled.
                    let waker = state.set_waker(None);
                    let Self { tier, terms, .. } = &*self;
                    terms.caller.pauses(|| tier.hold(|| state.is_done()));
                    state.set_waker(waker);
                }
                state
            }
        };
        if !state.is_done() {
            return Poll::Pending;
        }
        drop(state.set_waker(None));
        Poll::Ready(state.take())
    }
}

impl Drop for Fan {
    fn drop(&mut self) {
        if let Phase::Made(state) = &self.phase {
            drop(state.set_waker(None));
            drop(state.take());
        }
    }
}
