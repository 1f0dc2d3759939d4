//! Threads that lose what they were handed, sleep on, or wait for another's request.

use crate::mechanics::Mechanics;
use crate::node::staff::{Rest, Staff};
use crate::slab::Key;
use crate::space::Event;
use tailwater_core::{Instant, RequestId};

/// What is wrong with threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ThreadBug {
    /// A change of model forgets what was handed over.
    ForgetsTheHanded,
    /// A change of model hands the first of those over again.
    HandsOverAgain,
    /// A thread that was woken sleeps on.
    LosesWakeUps,
    /// A change of model puts threads to sleep that were about to wake.
    SleepsOn,
    /// A change of model gives what has begun to the next thread.
    MovesTheBegun,
    /// A change of model lets nothing end that a thread is held for.
    HoldsForEver,
    /// A change of model has the last thread wait for a call that nothing made.
    WaitsForNoCall,
}

impl ThreadBug {
    /// What becomes of an event; nothing when it is lost.
    pub(super) fn meddle(self, mechanics: &mut Mechanics<'_>, event: Event) -> Option<Event> {
        match (self, event) {
            (Self::LosesWakeUps, Event::Woken { .. }) => {
                // One that strikes every time is found too easily to show anything.
                return (!mechanics.events.is_multiple_of(50)).then_some(event);
            }
            (Self::MovesTheBegun, Event::Switch(_)) => move_begun(mechanics),
            (_, Event::Switch(_)) => {
                let nodes = mechanics.topology.nodes.iter_mut();
                nodes.filter_map(|node| node.staff.as_mut()).for_each(|staff| self.spoil(staff));
            }
            _ => {}
        }
        Some(event)
    }

    fn spoil(self, staff: &mut Staff) {
        let threads = staff.threads.iter_mut();
        match self {
            Self::ForgetsTheHanded => staff.handed.clear(),
            Self::HandsOverAgain => staff.handed.extend(staff.handed.front().copied()),
            Self::SleepsOn => threads.for_each(|thread| {
                if let Rest::Waking = thread.rest {
                    thread.rest = Rest::Idle(Instant::ZERO);
                }
            }),
            Self::HoldsForEver => threads.filter_map(|it| it.held.as_mut()).for_each(|held| {
                held.is_over = false;
            }),
            Self::WaitsForNoCall => {
                // Nodes have four loops at most. What is behind them hears no client that would miss it.
                if let [_, _, _, _, .., thread] = &mut staff.threads[..] {
                    thread.alone = Some(Key::of(RequestId(u64::MAX)));
                }
            }
            Self::LosesWakeUps | Self::MovesTheBegun => {}
        }
    }
}

fn move_begun(mechanics: &mut Mechanics<'_>) {
    let (space, topology) = (&mut mechanics.space, &mechanics.topology);
    for key in space.requests.keys(|request| request.task.is_some()) {
        let Some(request) = space.requests.get_mut(key) else { continue };
        let node = &topology.nodes[topology.to(request.connection)];
        let threads = node.staff.as_ref().map_or(1, |staff| staff.threads.len()) as u16;
        if let Some(task) = &mut request.task {
            task.thread = (task.thread + 1) % threads;
        }
    }
}
