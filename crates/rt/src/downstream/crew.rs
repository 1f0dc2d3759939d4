//! Threads that make calls for the handlers of others: responders, and those of fork and join.
//!
//! A fan whose model has a crew leaves as *legs*: all its calls in one to a responder, or each call in one to a
//! thread of fork and join. That thread is woken for it and waits for its answer alone. A member makes a leg's calls
//! by its own connections and gives the outcomes back to the fan's `home`. The fan counts them as if its own thread
//! had made the calls.

use super::home::{Countdown, FanKey, Home, Returned};
use super::part::{Planned, Terms};
use super::state::Outcome;
use crate::bell::Bell;
use crate::handover::Handover;
use crate::staff::Staff;
use crossbeam_queue::SegQueue;
use std::sync::Arc;

/// Most legs that wait for a member; the calls of further ones end as [`CallError::QueueFull`](crate::client::CallError).
const LEGS_MAX: usize = 1 << 16;

/// Names one leg: the number of its home, and one that no other leg of that home has.
pub(crate) type LegKey = (usize, u64);

pub(crate) struct Crew {
    pub(crate) staff: Staff<LegKey>,
    legs: SegQueue<Leg>,
}

/// Calls on their way to a member.
pub(crate) struct Leg {
    pub(super) key: LegKey,
    pub(super) handover: Arc<Handover>,
    /// Which tier's room they take.
    pub(super) tier: usize,
    /// With the fan's place of each.
    pub(super) calls: Vec<(usize, Planned)>,
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
    pub(super) fn tell(&self, place: usize, outcome: Outcome) {
        self.home.tell(Returned { fan: self.fan, place, outcome }, &self.count);
    }
}

impl Crew {
    pub(crate) fn new<B: Bell + Clone + 'static>(bells: impl IntoIterator<Item = B>) -> Self {
        Self { staff: Staff::new(bells), legs: SegQueue::new() }
    }

    /// Whether one more leg may wait.
    pub(super) fn has_room(&self) -> bool {
        // Threads that ask at once may each add one beyond it.
        self.legs.len() < LEGS_MAX
    }

    /// Leaves a leg for any member.
    pub(super) fn push(&self, leg: Leg) {
        self.legs.push(leg);
        self.staff.rouse();
    }

    /// The next leg that is wanted, for this member.
    pub(crate) fn pop(&self, member: usize) -> Option<Leg> {
        loop {
            let leg = self.legs.pop()?;
            if leg.handover.take(member as u32) {
                return Some(leg);
            }
        }
    }

    pub(crate) fn has_legs(&self) -> bool {
        !self.legs.is_empty()
    }
}
