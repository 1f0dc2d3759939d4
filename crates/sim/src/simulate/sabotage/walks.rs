//! Requests that forget on their paths what they hold or waited, and a timer that does not ring.

use crate::mechanics::Mechanics;
use crate::space::Event;
use crate::task::{Stage, Task};
use crate::world::{NodeSpec, World};
use std::sync::Arc;
use std::time::Duration;
use tailwater_core::Instant;
use tailwater_workload::ways::Op;

/// What is wrong with a request's walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WalkBug {
    /// A refused request forgets its locks, and nobody releases them.
    KeepsLocks,
    /// The end of a lock's step is passed over.
    ForgetsToRelease,
    /// A lock that is taken is taken as well.
    TakesTheTaken,
    /// A request that was handed a lock does not know that it holds it.
    ForgetsTheHandOver,
    /// The wait for a lock is not deducted.
    ForgetsWaits,
    /// The wait in the run queue is not deducted.
    ForgetsTheRunQueue,
    /// No request gives up although it should.
    NeverGivesUp,
}

impl WalkBug {
    /// The world with the bug in it, where it is one of its paths.
    pub(super) fn spoil(self, world: &mut World) {
        if self == Self::ForgetsToRelease {
            forget_releases(&mut world.node);
            world.tiers.iter_mut().for_each(|tier| forget_releases(&mut tier.node));
        }
    }

    /// What becomes of an event; nothing when it is lost.
    pub(super) fn meddle(
        self,
        mechanics: &mut Mechanics<'_>,
        now: Instant,
        event: Event,
    ) -> Option<Event> {
        let space = &mut mechanics.space;
        if self == Self::NeverGivesUp && matches!(event, Event::GiveUp(_)) {
            return None;
        }
        for key in space.requests.keys(|request| request.task.is_some()) {
            let Some(request) = space.requests.get_mut(key) else { continue };
            let Some(task) = &mut request.task else { continue };
            match self {
                Self::KeepsLocks if task.refused.is_some() => task.held.clear(),
                Self::ForgetsTheHandOver if task.owed > Duration::ZERO => task.held.clear(),
                Self::ForgetsTheRunQueue if task.stage == Stage::Ready => request.queued = now,
                Self::ForgetsWaits => forget_wait(now, task),
                Self::TakesTheTaken => {
                    if let Stage::Waiting { lock, .. } = task.stage {
                        task.stop_waiting(now);
                        task.held.push(lock);
                        task.stage = Stage::Pausing { since: now };
                        space.calendar.at(now, Event::Resume(key));
                    }
                }
                _ => {}
            }
        }
        Some(event)
    }
}

fn forget_wait(now: Instant, task: &mut Task) {
    if let Stage::Waiting { since, .. } = &mut task.stage {
        *since = now;
    }
}

fn forget_releases(node: &mut NodeSpec) {
    if let Some(paths) = &mut node.paths {
        let ways = &mut Arc::make_mut(paths).ways.all;
        ways.iter_mut().for_each(|way| way.ops.retain(|op| !matches!(op, Op::Release { .. })));
    }
}
