//! Calls end once, and callers wait for as many as there are.

use super::Finding;
use crate::space::{Request, Space};
use crate::task::Stage;
use std::collections::BTreeMap;

/// At the end: what callers have made against what became of it. `left` are those that are still on
/// their way.
pub(crate) fn counted(made: u64, ended: u64, left: u64) -> Finding {
    (made != ended + left)
        .then(|| format!("{made} calls were made, {ended} ended, {left} are left"))
}

/// At the end: who waits for calls waits for as many as are on their way for it or wait for a thread, and for at least one.
/// Two tries of one call are one.
pub(crate) fn awaited(space: &Space) -> Finding {
    let mut under_way = BTreeMap::new();
    let first_tries = space.requests.iter().filter(|request| !request.is_second_try());
    for parent in first_tries.filter_map(Request::parent) {
        *under_way.entry(parent).or_insert(0_u32) += 1;
    }
    let calling = space.requests.keys(|request| {
        request.task.as_ref().is_some_and(|task| matches!(task.stage, Stage::Calling { .. }))
    });
    calling.into_iter().find_map(|key| {
        let stage = space.requests.get(key)?.task.as_ref()?.stage;
        let Stage::Calling { left, unmade, .. } = stage else { return None };
        let found = under_way.get(&key).copied().unwrap_or(0) + unmade;
        (left == 0 || left != found).then(|| {
            format!("a request waits for {left} calls, but {found} are on their way for it")
        })
    })
}
