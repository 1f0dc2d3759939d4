//! Locks know their holders and waiters, and these know their locks.

use super::Finding;
use crate::slab::Key;
use crate::space::Space;
use crate::task::{Stage, Task};

/// At any time: a lock that is held or waited for, its holder, and those who wait. `None` is the holder
/// of a lock for which somebody waits although nobody holds it.
pub(crate) fn known(lock: u32, holder: Option<Key>, waiters: &[Key], space: &Space) -> Finding {
    let task_of = |key: Key| -> Option<&Task> { space.requests.get(key)?.task.as_deref() };
    let held = holder.and_then(task_of).is_some_and(|task| task.held.contains(&lock));
    let waits = |task: &Task| matches!(task.stage, Stage::Waiting { lock: at, .. } if at == lock);
    let waited_for = waiters.iter().all(|key| task_of(*key).is_some_and(waits));
    (!held || !waited_for)
        .then(|| format!("lock {lock} is held or waited for by a request that is not there"))
}

/// When a request is answered.
pub(crate) fn let_go(held: usize, stage: Stage) -> Finding {
    if held > 0 {
        return Some(format!("a request was answered while it holds {held} locks"));
    }
    (stage != Stage::Ready).then(|| format!("a request was answered in stage {stage:?}"))
}
