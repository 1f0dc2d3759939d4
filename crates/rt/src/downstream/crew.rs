//! Threads that make calls for the handlers of others: responders, and those of fork and join.
//!
//! A fan whose model has a crew leaves as *legs*: all its calls in one to a responder, or each call in one to a
//! thread of fork and join. That thread is woken for it and waits for its answer alone. A member makes a leg's calls
//! by its own connections and gives the outcomes back to the fan's `home`. The fan counts them as if its own thread
//! had made the calls.
//!
//! # The protocol
//!
//! 1. A home counts a leg as waiting, leaves it in the queue, and rings for a member that sleeps.
//! 2. The first at the leg's word has its cargo: the member that begins it, or the home that takes it back. It counts the
//!    leg off. What a home takes back is freed at once; the leg stays in the queue as an empty one.
//! 3. The home that finds more empty legs than others takes them out of the queue.
//! 4. A crew that becomes smaller leaves a *backlog*: what waits at that moment. All members serve it, those as well that
//!    take nothing else any more. What comes later is for the smaller crew. Of the
//!    backlog that is taken back, as many later ones are for all.
//! 5. A member that has found nothing looks once more before it sleeps, by the rules of [`crate::bell`].
//!
//! Each leg that waits holds room of its home's tier, which bounds how many there are.

use super::call::{Outcome, Planned, Terms};
use super::home::{Countdown, FanKey, Home, Returned};
use super::room::Lent;
use crate::bell::Bell;
use crate::handover::Handover;
use crate::primitive::{AtomicUsize, Mutex, Queue};
use crate::staff::Staff;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::{Arc, PoisonError};
use tailwater_core::caught;

/// Empty legs that are left in the queue in any case.
const EMPTY_MAX: usize = if cfg!(loom) { 0 } else { 64 };

/// Names one leg: the number of its home, and one that no other leg of that home has.
pub(crate) type LegKey = (usize, u64);

pub(crate) struct Crew {
    pub(crate) staff: Staff<LegKey>,
    /// Legs that wait, and empty ones: at most as many, or [`EMPTY_MAX`].
    legs: Queue<Arc<Leg>>,
    /// Legs that nobody has begun or taken back.
    waiting: AtomicUsize,
    /// Of the legs in the queue, the first so many were left for a larger crew.
    backlog: AtomicUsize,
    /// Held while legs are out of the queue that go back to it.
    sweeping: Mutex<()>,
}

/// Calls on their way to a member.
pub(super) struct Leg {
    key: LegKey,
    handover: Handover,
    /// Opened by whoever has it by the word above, so that nobody ever waits for the lock.
    cargo: Mutex<Option<Cargo>>,
}

/// What a leg brings.
pub(crate) struct Cargo {
    /// With the fan's place of each, and its room.
    pub(super) calls: Vec<(usize, Planned, Lent)>,
    pub(super) terms: Terms,
    pub(super) way_back: WayBack,
    /// Its member takes no other until it ends.
    pub(super) is_alone: bool,
}

/// Where outcomes of a leg go.
#[derive(Clone)]
pub(super) struct WayBack {
    pub(super) home: Arc<Home>,
    pub(super) fan: FanKey,
    pub(super) count: Arc<Countdown>,
}

impl WayBack {
    pub(super) fn tell(&self, place: usize, outcome: Outcome, lent: Lent) {
        let outcome = self.count.bounded(outcome);
        self.home.tell(Returned { fan: self.fan, place, outcome, _room: lent }, &self.count);
    }
}

impl Leg {
    pub(super) fn new(key: LegKey, cargo: Cargo) -> Self {
        Self { key, handover: Handover::default(), cargo: Mutex::new(Some(cargo)) }
    }

    /// For whoever has it. `None` the second time.
    fn open(&self) -> Option<Cargo> {
        self.cargo.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Crew {
    /// With a member for each bell; all of them take legs.
    pub(crate) fn new<B: Bell + Clone + 'static>(bells: impl IntoIterator<Item = B>) -> Self {
        let (waiting, backlog) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (legs, sweeping) = (Queue::new(), Mutex::new(()));
        Self { staff: Staff::new(bells), legs, waiting, backlog, sweeping }
    }

    /// From now on so many members take legs; all there are at most. For one caller at a time, who wakes the crew
    /// afterwards.
    pub(crate) fn resize(&self, members: usize) {
        // A leg that a sweep has out of the queue would not be counted.
        let _sweeping = self.sweeping.lock().unwrap_or_else(PoisonError::into_inner);
        if self.staff.resize(members) > members {
            // Rule 4. Before the doorbells are looked at: the publishing of rule 2 in `bell.rs`.
            self.backlog.store(self.legs.len(), SeqCst);
        }
    }

    /// Leaves a leg for any member.
    pub(super) fn push(&self, leg: Arc<Leg>) {
        // Ahead of the push, behind which it may be counted off. Relaxed: it only says when to sweep.
        self.waiting.fetch_add(1, Relaxed);
        self.legs.push(leg);
        self.staff.rouse();
    }

    /// The next leg for this member: `None` if there is none, or if it takes none. One that was rung for a leg takes that.
    pub(crate) fn next(&self, member: usize, was_rung: bool) -> Option<(LegKey, Cargo)> {
        while was_rung || self.staff.is_active(member) || self.has_backlog() {
            let leg = self.pop()?;
            if leg.handover.take(member as u32)
                && let Some(cargo) = leg.open()
            {
                self.count_off();
                return Some((leg.key, cargo));
            }
        }
        None
    }

    /// Takes a leg back unless a member has begun it: true, and true again.
    pub(super) fn revoke(&self, leg: &Leg) -> bool {
        let is_back = leg.handover.revoke();
        if is_back && let Some(cargo) = leg.open() {
            self.count_off();
            self.sweep();
            // Foreign code, which may panic: behind all of ours.
            let _ = caught(|| drop(cargo));
        }
        is_back
    }

    /// A leg is not wanted any more: it is taken back, or its member is told to end it, once.
    pub(super) fn recall(&self, leg: &Leg) {
        if !self.revoke(leg)
            && let Some(member) = leg.handover.cancel()
        {
            self.staff.cancel(member, leg.key);
        }
    }

    /// A member sleeps until it is woken; see [`Staff::rest`].
    pub(crate) fn rest(&self, member: usize, has_room: bool, sleep: impl FnOnce()) -> bool {
        let has_legs = || !self.legs.is_empty();
        self.staff.rest(member, has_room, has_legs, || {
            if !(has_room && self.has_backlog() && has_legs()) {
                sleep();
            }
        })
    }

    /// A leg waits no more.
    fn count_off(&self) {
        // Relaxed: as in `push`.
        self.waiting.fetch_sub(1, Relaxed);
    }

    fn has_backlog(&self) -> bool {
        // A sleeper asks after it lay down: the look for work of rule 1 in `bell.rs`.
        self.backlog.load(SeqCst) > 0
    }

    fn pop(&self) -> Option<Arc<Leg>> {
        let less = |left: usize| left.checked_sub(1);
        // Ahead of the pop: what is counted meanwhile by `resize` may be counted once too often. Then a member serves a leg
        // that is not for it, where it might otherwise leave one that nobody serves.
        let counted = self.has_backlog() && self.backlog.fetch_update(SeqCst, SeqCst, less).is_ok();
        let leg = self.legs.pop();
        if counted && leg.is_none() {
            // As above: rather once too often.
            self.backlog.fetch_add(1, SeqCst);
        }
        leg
    }

    /// Takes empty legs out of the queue if most are, unless another thread does. The others keep their order, but for as many
    /// as members begin meanwhile. Each was taken back once, so that the work for one is that of two.
    fn sweep(&self) {
        let all = self.legs.len();
        // Relaxed: of what others do meanwhile the next sweep knows.
        let waiting = self.waiting.load(Relaxed);
        if all <= waiting.max(EMPTY_MAX).saturating_mul(2) {
            return;
        }
        let Ok(_sweeping) = self.sweeping.try_lock() else { return };
        for _ in 0..all {
            let Some(leg) = self.legs.pop() else { break };
            if !leg.handover.is_revoked() {
                self.legs.push(leg);
                self.staff.rouse();
            }
        }
        if self.has_backlog() {
            // A member that takes nothing else may have looked while the leg was not there.
            self.staff.wake();
        }
    }
}

#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(loom)))]
mod tests;
