//! What executors do so that debug builds can name a task that waits in vain.

use crate::order::{Present, Watched};
use std::marker::PhantomData;
use std::task::Waker;

/// Follows one task, in debug builds. It panics with the names of locks while the task has nothing else to wait for:
/// where it waits for a lock which it holds, or for two locks in two orders. In release builds it is nothing.
///
/// For executors: one for each task, [entered](Watch::enter) around each of its polls, and asked
/// [whether it waits in vain](Watch::waits_in_vain) after each that is pending. Then it is polled again
/// at once, and panics where it waits. Only a task that has nothing else to wait for is judged:
/// branches under one `join` or `select` may hold and want locks in any order.
///
/// A guard counts for the task that took it until it is dropped, be it elsewhere. A task that gives its
/// guard away and then waits for what it guards takes it within [`exempt`](crate::budget::exempt).
#[derive(Default)]
pub struct Watch(Watched);

impl Watch {
    /// Of a new task.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// This thread polls the task, with this waker, until the guard is dropped. Guards are dropped in
    /// reverse order.
    pub fn enter(&self, waker: &Waker) -> Watching {
        Watching { _present: self.0.enter(waker), _thread: PhantomData }
    }

    /// Whether the task, which is pending, is to be polled again because it waits in vain. True once for
    /// each such wait.
    ///
    /// `waker_clones` says how many clones there are of its waker that the executor did not make for itself. It is
    /// `None` if the task was woken since the poll began. They are read in this order, so that a waker that another
    /// thread uses up meanwhile is seen as either. Not called in release builds.
    pub fn waits_in_vain(&self, waker_clones: impl FnOnce() -> Option<usize>) -> bool {
        self.0.waits_in_vain(waker_clones)
    }
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Watch")
    }
}

/// See [`Watch::enter`].
#[must_use = "dropping it ends the poll"]
pub struct Watching {
    _present: Present,
    /// It belongs to the thread that made it.
    _thread: PhantomData<*const ()>,
}

impl std::fmt::Debug for Watching {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Watching")
    }
}
