//! Calls that are awaited together.

use super::Tier;
use super::desk::Desk;
use crate::client::{Answer, CallError, Fill, NewCall, Order};
use bytes::Bytes;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use tailwater_core::threads::Completion;
use tailwater_core::{Instant, MethodId};

/// Most calls of one fan; further ones end as [`CallError::QueueFull`].
pub const CALLS_MAX: usize = 1_024;

type Outcome = Result<Answer, CallError>;

/// Calls to the shards of a tier that a handler awaits together: their outcomes, in the order in which they
/// were added. They are made when the fan is first polled.
///
/// Every call ends by the fan's deadline. Dropping the fan gives up what has not ended: what was not sent is
/// taken back, and servers are told to end what was.
///
/// Under [`Completion::Sync`] its first poll holds the thread until the fan is done: a handler that polls
/// several fans at once has their answers one after the other, and what it polls beside them comes too late.
#[must_use = "calls are made when the fan is awaited"]
pub struct Fan {
    tier: Tier,
    deadline: Instant,
    priority: u8,
    tenant: u32,
    enough: usize,
    fails_fast: bool,
    phase: Phase,
}

enum Phase {
    Planned(Vec<Planned>),
    Made(Rc<State>),
}

struct Planned {
    shard: usize,
    method: MethodId,
    payload: Bytes,
}

impl Fan {
    pub(super) const fn new(tier: Tier, deadline: Instant, priority: u8, tenant: u32) -> Self {
        let phase = Phase::Planned(Vec::new());
        let (enough, fails_fast) = (usize::MAX, false);
        Self { tier, deadline, priority, tenant, enough, fails_fast, phase }
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
        self.deadline = self.deadline.min(deadline);
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

    fn make(&self, planned: Vec<Planned>, waker: Waker) -> Rc<State> {
        let desk = &self.tier.desk;
        let state = Rc::new(State::new(planned.len(), self, desk.clone()));
        let room = &self.tier.room;
        for (place, Planned { shard, method, payload }) in planned.into_iter().enumerate() {
            let bytes = payload.len();
            if place >= CALLS_MAX || !room.take(bytes) {
                state.end(place, Err(CallError::QueueFull));
                continue;
            }
            let shard = self.tier.first + shard;
            let filler = Part { state: state.clone(), room: room.clone(), place, shard, bytes };
            let (deadline, priority, tenant) = (Some(self.deadline), self.priority, self.tenant);
            let call = NewCall { method, payload, deadline, priority, tenant };
            desk.order(shard, Order { call, filler });
        }
        state.waker.set(Some(waker));
        state
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
                drop(state.waker.replace(Some(waker)));
                state.clone()
            }
            Phase::Planned(planned) => {
                let planned = std::mem::take(planned);
                let state = self.make(planned, waker);
                self.phase = Phase::Made(state.clone());
                // Only here: one that was made before the model changed goes on as it was begun.
                if state.desk.completion() == Completion::Sync {
                    // Nobody need be woken meanwhile: the handler is being polled.
                    let waker = state.waker.take();
                    state.hold();
                    state.waker.set(waker);
                }
                state
            }
        };
        if !state.is_done() {
            return Poll::Pending;
        }
        drop(state.waker.take());
        Poll::Ready(state.take())
    }
}

impl Drop for Fan {
    fn drop(&mut self) {
        if let Phase::Made(state) = &self.phase {
            drop(state.waker.take());
            drop(state.take());
        }
    }
}

/// What the fan and its calls share. Nothing of it is borrowed while foreign code runs.
struct State {
    desk: Rc<Desk>,
    places: RefCell<Vec<Place>>,
    /// Calls that have not ended.
    open: Cell<usize>,
    /// Answers until there are enough.
    wanted: Cell<usize>,
    fails_fast: bool,
    waker: Cell<Option<Waker>>,
}

enum Place {
    /// On its way. The shard and the thread's token, once the thread has taken it.
    Open(Option<(usize, u64)>),
    Ended(Outcome),
    /// No outcome is wanted any more.
    Over,
}

impl State {
    fn new(calls: usize, fan: &Fan, desk: Rc<Desk>) -> Self {
        Self {
            desk,
            places: RefCell::new((0..calls).map(|_| Place::Open(None)).collect()),
            open: Cell::new(calls),
            wanted: Cell::new(fan.enough),
            fails_fast: fan.fails_fast,
            waker: Cell::new(None),
        }
    }

    fn is_done(&self) -> bool {
        self.open.get() == 0 || self.wanted.get() == 0
    }

    /// Holds the thread until the fan is done. If the thread may not be held for so long, the fan wakes the handler.
    fn hold(&self) {
        if let Some(turns) = self.desk.turns() {
            turns.hold(&self.desk, || self.is_done());
        }
    }

    /// One call has ended; nothing if its outcome is not wanted any more.
    fn end(&self, place: usize, outcome: Outcome) {
        if let Some(place) = self.places.borrow_mut().get_mut(place)
            && matches!(place, Place::Open(_))
        {
            self.open.set(self.open.get() - 1);
            let wanted = match outcome {
                Ok(_) => self.wanted.get().saturating_sub(1),
                Err(_) if self.fails_fast => 0,
                Err(_) => self.wanted.get(),
            };
            self.wanted.set(wanted);
            *place = Place::Ended(outcome);
        }
        if self.is_done()
            && let Some(waker) = self.waker.take()
        {
            self.desk.will_wake(waker);
        }
    }

    /// The outcomes. What has not ended is given up.
    fn take(&self) -> Vec<Outcome> {
        let take = |place: &mut Place| match std::mem::replace(place, Place::Over) {
            Place::Ended(outcome) => outcome,
            Place::Open(Some((shard, token))) => {
                self.desk.give_up(shard, token);
                Err(CallError::NotAwaited)
            }
            Place::Open(None) | Place::Over => Err(CallError::NotAwaited),
        };
        self.places.borrow_mut().iter_mut().map(take).collect()
    }
}

/// One call of a fan, with the duty to end it: dropped without an end it was lost.
pub(crate) struct Part {
    state: Rc<State>,
    room: Rc<Room>,
    place: usize,
    shard: usize,
    bytes: usize,
}

impl Fill for Part {
    fn take_on(&self, token: u64) -> bool {
        let mut places = self.state.places.borrow_mut();
        let Some(Place::Open(taken)) = places.get_mut(self.place) else { return false };
        *taken = Some((self.shard, token));
        true
    }

    fn fill(self, outcome: Outcome) {
        self.state.end(self.place, outcome);
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.room.give_back(self.bytes);
        // Nothing happens to a call that has ended.
        self.state.end(self.place, Err(CallError::Disconnected));
    }
}

/// What bounds the calls of a thread's handlers to one tier.
pub(crate) struct Room {
    calls_max: usize,
    bytes_max: usize,
    calls: Cell<usize>,
    bytes: Cell<usize>,
}

impl Room {
    pub(super) const fn new(calls_max: usize, bytes_max: usize) -> Self {
        Self { calls_max, bytes_max, calls: Cell::new(0), bytes: Cell::new(0) }
    }

    /// Takes room for one call. False if there is none.
    fn take(&self, bytes: usize) -> bool {
        let (calls, held) = (self.calls.get() + 1, self.bytes.get().saturating_add(bytes));
        // A call that comes alone may be longer than all together.
        let fits = held <= self.bytes_max || calls == 1;
        if calls > self.calls_max || !fits {
            return false;
        }
        self.calls.set(calls);
        self.bytes.set(held);
        true
    }

    fn give_back(&self, bytes: usize) {
        self.calls.set(self.calls.get() - 1);
        self.bytes.set(self.bytes.get() - bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_bounded_by_calls_and_by_bytes_and_one_that_comes_alone_fits() {
        let room = Room::new(2, 100);
        assert!(room.take(500), "it comes alone");
        assert!(!room.take(1));
        room.give_back(500);
        assert!(room.take(60) && !room.take(41) && room.take(40));
        assert!(!room.take(0), "two calls are the most");
        room.give_back(60);
        assert!(room.take(60));
    }
}
