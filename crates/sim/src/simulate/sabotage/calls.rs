//! Calls between nodes whose answers and losses are told wrongly.

use crate::mechanics::Mechanics;
use crate::slab::Key;
use crate::space::{Event, Request, Space};
use crate::task::Stage;
use tailwater_core::Instant;
use tailwater_workload::scenario::{FaultKind, Struck};

/// What is wrong with calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CallBug {
    /// The caller is not told of an answer.
    LosesAnswers,
    /// The first of several answers wakes the caller.
    WakesEarly,
    /// The last answer does not wake the caller.
    ForgetsToWake,
    /// A caller whose connection is lost waits on.
    MissesTheLoss,
    /// A caller hears of each loss twice.
    HearsOfLossTwice,
    /// A process that dies leaves the calls behind that it had not sent.
    LeavesCallsBehind,
}

impl CallBug {
    /// What becomes of an event; nothing when it is lost.
    pub(super) fn meddle(
        self,
        mechanics: &mut Mechanics<'_>,
        now: Instant,
        event: Event,
    ) -> Option<Event> {
        let space = &mut mechanics.space;
        match (self, event) {
            (Self::LosesAnswers, Event::Reply(key)) if is_call(key, space) => {
                space.requests.remove(key);
                return None;
            }
            (Self::MissesTheLoss, Event::CallLost(key)) => {
                space.requests.remove(key);
                return None;
            }
            (Self::HearsOfLossTwice, Event::CallLost(key)) if is_call(key, space) => {
                space.calendar.at(now, event);
            }
            (Self::WakesEarly, Event::Reply(key)) => change_left(key, space, |left| *left = 1),
            (Self::ForgetsToWake, Event::Reply(key)) => change_left(key, space, |left| *left += 1),
            (Self::LeavesCallsBehind, Event::Fault(index, true)) => {
                let fault = mechanics.faults[usize::from(index)].0;
                if fault.kind == FaultKind::ServerRestart {
                    leave_behind(mechanics, fault.nodes);
                }
            }
            _ => {}
        }
        Some(event)
    }
}

fn is_call(key: Key, space: &Space) -> bool {
    parent(key, space).is_some()
}

fn parent(key: Key, space: &Space) -> Option<Key> {
    space.requests.get(key)?.task.as_ref()?.parent
}

/// Changes how many answers the caller of a request thinks it waits for.
fn change_left(key: Key, space: &mut Space, change: impl FnOnce(&mut u32)) {
    let caller = parent(key, space).and_then(|parent| space.requests.get_mut(parent));
    let stage = caller.and_then(|caller| caller.task.as_mut()).map(|task| &mut task.stage);
    if let Some(Stage::Calling { left, .. }) = stage {
        change(left);
    }
}

/// What the nodes that are to die have not sent will be there when they are gone.
fn leave_behind(mechanics: &mut Mechanics<'_>, struck: Struck) {
    let (space, topology) = (&mut mechanics.space, &mechanics.topology);
    let dying = topology.struck(struck);
    let waits = |request: &Request| {
        let from = topology.from(request.connection);
        request.dispatch.is_none() && from.is_some_and(|from| dying.contains(&from))
    };
    for key in space.requests.keys(waits) {
        if let Some(copy) = space.requests.get(key).cloned() {
            space.requests.insert(copy);
        }
    }
}
