//! A client's connection, in tailwater's protocol or in another one.

use super::foreign_link::ForeignLink;
use tailwater_control::retry::Load;
use tailwater_core::{Instant, RequestId};
use tailwater_rt::client::{Channel, Event, Health, Losses, NewCall};
use tailwater_rt::poll::{Poller, Readiness};

#[allow(
    clippy::large_enum_variant,
    reason = "a fleet's connections are of one kind, but for a few to nodes"
)]
pub(super) enum Link {
    Ours(Channel),
    Foreign(ForeignLink),
}

impl Link {
    /// The number is for [`Link::recall`] and [`Link::is_waiting`].
    pub(super) fn submit(&mut self, now: Instant, token: u64, call: NewCall) -> RequestId {
        match self {
            Self::Ours(channel) => channel.submit(now, token, call),
            Self::Foreign(link) => {
                link.submit(now, token, call);
                // It has no further replicas, so that no call is recalled.
                RequestId(0)
            }
        }
    }

    pub(super) fn recall(&mut self, id: RequestId) -> Option<NewCall> {
        match self {
            Self::Ours(channel) => channel.recall(id),
            Self::Foreign(_) => None,
        }
    }

    pub(super) fn on_ready(
        &mut self,
        now: Instant,
        poller: &Poller,
        readiness: Readiness,
        scratch: &mut [u8],
    ) {
        match self {
            Self::Ours(channel) => {
                channel.on_ready(now, poller, readiness, scratch);
            }
            Self::Foreign(link) => link.on_ready(now, poller, readiness, scratch),
        }
    }

    pub(super) fn drive(&mut self, now: Instant, poller: &Poller) {
        match self {
            Self::Ours(channel) => channel.drive(now, poller),
            Self::Foreign(link) => link.drive(now, poller),
        }
    }

    pub(super) fn poll_event(&mut self) -> Option<Event> {
        match self {
            Self::Ours(channel) => channel.poll_event(),
            Self::Foreign(link) => link.poll_event(),
        }
    }

    pub(super) fn next_deadline(&self, now: Instant) -> Option<Instant> {
        match self {
            Self::Ours(channel) => channel.next_deadline(now),
            // Nothing waits there, and a late answer is waited for.
            Self::Foreign(_) => None,
        }
    }

    pub(super) fn is_up(&self) -> bool {
        match self {
            Self::Ours(channel) => channel.is_up(),
            Self::Foreign(link) => link.is_up(),
        }
    }

    pub(super) fn health(&self, now: Instant) -> Health {
        match self {
            Self::Ours(channel) => channel.health(now),
            Self::Foreign(link) if link.is_up() => Health::Well,
            Self::Foreign(_) => Health::Unwell,
        }
    }

    pub(super) fn load(&self, now: Instant) -> Load {
        match self {
            Self::Ours(channel) => channel.load(now),
            Self::Foreign(link) => Load { calls: link.unfinished(), ..Load::default() },
        }
    }

    pub(super) fn is_waiting(&self, id: RequestId) -> bool {
        match self {
            Self::Ours(channel) => channel.is_waiting(id),
            Self::Foreign(_) => false,
        }
    }

    pub(super) fn unfinished(&self) -> usize {
        match self {
            Self::Ours(channel) => channel.unfinished(),
            Self::Foreign(link) => link.unfinished(),
        }
    }

    pub(super) fn failure(&self) -> Option<String> {
        match self {
            Self::Ours(channel) => channel.failure().map(ToString::to_string),
            Self::Foreign(link) => link.failure().map(str::to_owned),
        }
    }

    pub(super) fn losses(&self) -> Losses {
        match self {
            Self::Ours(channel) => channel.losses(),
            Self::Foreign(link) => link.losses(),
        }
    }
}
