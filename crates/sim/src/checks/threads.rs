//! No thread sleeps over what it has to do, and none waits for a request that does not wait.

use super::Finding;
use crate::space::{Event, Request, Space};
use crate::standing::Waiting;
use crate::task::Stage;

/// At the end: every thread that has something to do runs, wants a core, or is about to wake.
pub(crate) fn roused(waiting: &[Waiting], space: &Space) -> Finding {
    waiting.iter().find_map(|it| {
        let Waiting { node, thread, .. } = *it;
        let wakes = |event: &Event| {
            matches!(*event, Event::Woken { node: at, thread: woken, life }
                if (at, woken, life) == (node, thread, it.life))
        };
        if it.is_waking && !space.calendar.pending().any(wakes) {
            return Some(format!("thread {thread} of node {node} was woken and never wakes"));
        }
        (!it.is_waking && it.has_work)
            .then(|| format!("thread {thread} of node {node} sleeps over what it has to do"))
    })
}

/// At the end: a thread that waits for its request's calls has one that waits for them, and that is its own.
pub(crate) fn held(waiting: &[Waiting], space: &Space) -> Finding {
    waiting.iter().find_map(|it| {
        let Waiting { node, thread, held, .. } = *it;
        let task = space.requests.get(held?).and_then(|request| request.task.as_ref());
        let waits = task.is_some_and(|task| {
            task.thread == thread && matches!(task.stage, Stage::Calling { .. })
        });
        (!waits).then(|| format!("thread {thread} of node {node} waits for nobody's calls"))
    })
}

/// At the end: a thread that waits for one call alone has made that, and it is on its way.
pub(crate) fn alone(waiting: &[Waiting], space: &Space) -> Finding {
    waiting.iter().find_map(|it| {
        let Waiting { node, thread, alone, .. } = *it;
        let parent = alone?;
        let is_its = |call: &Request| {
            let by = call.errand.as_ref().and_then(|errand| errand.by);
            call.parent() == Some(parent) && by == Some(thread)
        };
        let waits = space.requests.iter().any(is_its);
        (!waits).then(|| format!("thread {thread} of node {node} waits for no call of its own"))
    })
}
