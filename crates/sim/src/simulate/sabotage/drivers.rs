//! A driver that loses, repeats and delays what it should carry out.

use crate::mechanics::Mechanics;
use crate::node::Node;
use crate::space::{Event, Packet};
use crate::world::World;
use std::time::Duration;
use tailwater_core::Instant;

/// What is wrong with the driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DriverBug {
    LosesAnswers,
    AnswersTwice,
    LosesRequests,
    /// A request arrives twice. On paths that would end as a hundred things.
    AsksTwice,
    LosesCreditMessages,
    /// The bound of the run queue is not looked at.
    OverfillsTheRunQueue,
    /// The delay is told once.
    StopsTicking,
    /// It is told a hundred times less often than was said.
    TicksSeldom,
    LosesWakeUps,
    WakesLate,
    /// Another node is woken than the one that asked for it.
    WakesTheWrongNode,
}

impl DriverBug {
    /// The world with the bug in it, where it is one of its numbers.
    pub(super) fn spoil(self, world: &mut World) {
        match self {
            Self::OverfillsTheRunQueue => world.node.queue_max = u32::MAX,
            Self::StopsTicking => world.node.tick = Duration::from_secs(3_600),
            Self::TicksSeldom => world.node.tick *= 100,
            _ => {}
        }
    }

    /// What becomes of an event; nothing when it is lost.
    pub(super) fn meddle(
        self,
        mechanics: &mut Mechanics<'_>,
        now: Instant,
        event: Event,
    ) -> Option<Event> {
        // Bugs that strike every time are found too easily to show anything.
        let rarely = mechanics.events.is_multiple_of(50);
        let (calendar, nodes) = (&mut mechanics.space.calendar, &mechanics.topology.nodes);
        let plain = !nodes.iter().any(Node::has_paths);
        match (self, event) {
            (Self::LosesAnswers, Event::Reply(_)) if rarely => return None,
            (Self::LosesRequests, Event::Packet(Packet::Request(_))) if rarely => return None,
            (Self::LosesCreditMessages, Event::Credit(_)) => return None,
            (Self::LosesWakeUps, Event::Tick(..)) => return None,
            (Self::AnswersTwice, Event::Reply(_)) if rarely => calendar.at(now, event),
            (Self::AsksTwice, Event::Packet(Packet::Request(_))) if rarely && plain => {
                calendar.at(now, event);
            }
            (Self::WakesLate, Event::Tick(..)) => {
                calendar.at(now + Duration::from_millis(1), event);
                return None;
            }
            (Self::WakesTheWrongNode, Event::Tick(node, at)) if usize::from(at) == 0 => {
                return Some(Event::Tick((node + 1) % nodes.len() as u16, at));
            }
            _ => {}
        }
        Some(event)
    }
}
