//! A driver that loses, repeats and delays what it should carry out.

use crate::simulate::Simulation;
use crate::space::{Event, Packet};
use std::time::Duration;
use tailwater_core::Instant;

/// What is wrong with the driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DriverBug {
    LosesAnswers,
    AnswersTwice,
    LosesRequests,
    RunsTwice,
    LosesCreditMessages,
    OverfillsTheRunQueue,
    StopsTicking,
    TicksSeldom,
    LosesWakeUps,
    WakesLate,
    ForgetsToArm,
}

impl DriverBug {
    /// What becomes of an event; nothing when it is lost.
    pub(super) fn meddle(
        self,
        simulation: &mut Simulation<'_>,
        now: Instant,
        event: Event,
    ) -> Option<Event> {
        let (space, node) = (&mut simulation.space, &mut simulation.topology.nodes[0]);
        // Bugs that strike every time are found too easily to show anything.
        let rarely = simulation.events.is_multiple_of(50);
        match (self, event) {
            (Self::LosesAnswers, Event::Reply(_)) if rarely => return None,
            (Self::LosesRequests, Event::Packet(Packet::Request(_))) if rarely => return None,
            (Self::LosesCreditMessages, Event::Credit(_)) => return None,
            (Self::LosesWakeUps, Event::Tick(..)) => return None,
            (Self::AnswersTwice, Event::Reply(_)) if rarely => space.calendar.at(now, event),
            (Self::WakesLate, Event::Tick(..)) => {
                space.calendar.at(now + Duration::from_millis(1), event);
                return None;
            }
            (Self::RunsTwice, _) if rarely => node.run_twice(),
            (Self::OverfillsTheRunQueue, _) => node.unbound_queue(),
            (Self::StopsTicking, _) => node.stop_ticking(),
            (Self::TicksSeldom, _) => node.tick_seldom(now),
            (Self::ForgetsToArm, _) => node.forget_to_arm(),
            _ => {}
        }
        Some(event)
    }
}
