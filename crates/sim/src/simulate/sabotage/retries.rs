//! Clients that try again where, when and as often as they may not.

use crate::mechanics::Mechanics;
use crate::space::{Event, Packet, Request};
use crate::world::World;
use tailwater_control::retry::Tries;
use tailwater_control::{Outcome, Reason};
use tailwater_core::{Instant, Ratio};

/// What is wrong with retries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RetryBug {
    /// A request goes again to where it was refused.
    TriesTheSame,
    /// Sheds are tried again whatever the budget.
    ForgetsTheBudget,
    /// Whether there is time left is not asked.
    TriesTooLate,
    /// A request that is tried again is lost on its way.
    LosesTheRetried,
    /// What was sent and refused counts as not tried.
    ForgetsTheTry,
}

impl RetryBug {
    /// The world with the bug in it, where it is one of its settings.
    pub(super) const fn spoil(self, world: &mut World) {
        if let Self::ForgetsTheBudget = self {
            (world.retry.share, world.retry.burst) = (Ratio(1.0), u32::MAX);
        }
    }

    /// What becomes of an event; nothing when it is lost.
    pub(super) fn meddle(self, mechanics: &mut Mechanics<'_>, event: Event) -> Option<Event> {
        let (Event::Reply(key) | Event::Packet(Packet::Request(key))) = event else {
            return Some(event);
        };
        let Some(request) = mechanics.space.requests.get_mut(key) else {
            return Some(event);
        };
        match (self, event) {
            (Self::TriesTheSame, Event::Reply(_)) => request.tries = Tries::NONE,
            (Self::TriesTooLate, Event::Reply(_)) => request.deadline = Instant::FAR_FUTURE,
            (Self::ForgetsTheTry, Event::Reply(_)) => forget_the_try(request),
            (Self::LosesTheRetried, Event::Packet(_)) if request.tries.count() > 1 => return None,
            _ => {}
        }
        Some(event)
    }
}

/// A refusal is heard as that of a server which goes away, and has not begun the request.
fn forget_the_try(request: &mut Request) {
    if let Some(answer) = &mut request.answer
        && let Outcome::Shed(_) = answer.outcome
    {
        answer.outcome = Outcome::Shed(Reason::Draining);
    }
}
