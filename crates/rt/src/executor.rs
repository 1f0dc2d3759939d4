//! A single-threaded executor that neither allocates nor locks for a handler that never waits (in debug
//! builds it allocates, to follow locks).
//!
//! A task lives in a slot, which is reused and has a waker made once, and its future in a box, which is
//! reused too. `ready.rs` says how a slot is woken, from any thread, and why no wake-up is lost. Panics of
//! handlers end here: in polls, in destructors of futures, and in those of the panics' payloads.
//!
//! Slots are kept for as many tasks as ever waited at once, at most `max`: a slot's waker may be anywhere.
//! The boxes are given back as `spares.rs` says.

mod held;
mod ready;
mod spares;
mod task;

use crate::bell::Doorbell;
pub(crate) use held::{add_held, held};
use ready::{Ready, SlotWaker};
use spares::Spares;
use std::future::Future;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;
pub(crate) use tailwater_core::Panicked;
use tailwater_core::caught;
use tailwater_sync::budget::{self, TaskBudget};
use task::Task;

/// What travels with a task, may hold its budget, and hears of its polls.
pub(crate) trait Meta {
    /// The budget that is set while the task is polled.
    fn budget(&mut self) -> Option<&mut TaskBudget>;

    /// Making its future, or a poll of it, begins. The former is followed by the first poll.
    fn works(&mut self) {}

    /// A poll of it is over.
    fn waits(&mut self) {}
}

/// A task's end, or `None` while it waits.
pub(crate) type Finished<M, F> = Option<(M, Result<<F as Future>::Output, Panicked>)>;

/// What became of a task at its first poll.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Started<M, T> {
    /// It never waited.
    Finished(M, Result<T, Panicked>),
    /// It waits, and may be cancelled.
    Waits(TaskKey),
}

/// Names one task, also after it has ended: no later task has the same key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TaskKey {
    slot: u32,
    generation: u64,
}

struct Slot<F, M> {
    task: Option<Task<F, M>>,
    /// Tasks that have ended here.
    generation: u64,
    waker: Waker,
    /// The same, by its type.
    wake: Arc<SlotWaker>,
}

/// Tasks of one thread. `M` travels with each task and comes back with its output.
pub(crate) struct Executor<F, M> {
    slots: Vec<Slot<F, M>>,
    free: Vec<u32>,
    spares: Spares<F>,
    ready: Arc<Ready>,
    max: usize,
}

impl<F: Future, M: Meta> Executor<F, M> {
    /// At most `max` tasks at a time; the caller asks [`Executor::has_room`] first. `budgets`: tasks
    /// may have them, so that wake-ups are stamped.
    pub(crate) fn new(doorbell: Arc<Doorbell>, max: usize, budgets: bool) -> Self {
        let ready = Arc::new(Ready::new(doorbell, budgets));
        Self { slots: Vec::new(), free: Vec::new(), spares: Spares::new(), ready, max }
    }

    pub(crate) fn has_room(&self) -> bool {
        self.live() < self.max
    }

    /// Tasks that wait.
    pub(crate) fn live(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Makes a task and polls it once.
    pub(crate) fn start(&mut self, mut meta: M, make: impl FnOnce() -> F) -> Started<M, F::Output> {
        held::begin(Duration::ZERO);
        meta.works();
        let mut body = self.spares.take();
        let made = {
            let _entered = meta.budget().map(budget::enter);
            // Where it stays: a handler's future has hundreds of bytes, and would be moved several times.
            caught(|| body.put(make()))
        };
        let held = held::end();
        if let Err(panicked) = made {
            meta.waits();
            self.spares.give_back(body, self.live());
            return Started::Finished(meta, Err(panicked));
        }
        let index = self.free.pop().unwrap_or_else(|| self.add_slot());
        let slot = &mut self.slots[index as usize];
        let mut task = Task::new(body, meta, held);
        // It moves into its slot only if it waits: most tasks do not.
        let Some(output) = task.poll(&slot.waker, &slot.wake, Duration::ZERO) else {
            slot.task = Some(task);
            return Started::Waits(TaskKey { slot: index, generation: slot.generation });
        };
        Started::Finished(self.free(index, task), output)
    }

    /// Drops a waiting task's future and gives back what travelled with it; `None` if the task has ended.
    /// What the future held or queued for is free again. Its wakers may go on to be used.
    pub(crate) fn cancel(&mut self, key: TaskKey) -> Option<M> {
        let slot = self.slots.get_mut(key.slot as usize)?;
        if slot.generation != key.generation {
            return None;
        }
        slot.task.as_mut()?.cancel(&slot.waker);
        self.end(key.slot)
    }

    /// Whether a woken task waits for its turn.
    pub(crate) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Polls the next woken task. Outer `None`: none is woken; inner: it still waits.
    pub(crate) fn poll_next(&mut self) -> Option<Finished<M, F>> {
        let index = self.ready.next()?;
        let waited = self.slots[index as usize].wake.taken();
        Some(self.poll(index, waited))
    }

    /// A panic ends the task that panicked and no other. `None` too if the slot is free.
    fn poll(&mut self, index: u32, waited: Duration) -> Finished<M, F> {
        let Slot { task, waker, wake, .. } = &mut self.slots[index as usize];
        let output = task.as_mut()?.poll(waker, wake, waited)?;
        Some((self.end(index)?, output))
    }

    /// Frees the slot of a task whose future is dropped.
    fn end(&mut self, index: u32) -> Option<M> {
        let task = self.slots[index as usize].task.take()?;
        Some(self.free(index, task))
    }

    /// Frees the slot of a task that is not in it, and whose future is dropped.
    fn free(&mut self, index: u32, task: Task<F, M>) -> M {
        let (body, meta) = task.into_parts();
        self.slots[index as usize].generation += 1;
        self.free.push(index);
        self.spares.give_back(body, self.live());
        meta
    }

    fn add_slot(&mut self) -> u32 {
        let index = u32::try_from(self.slots.len()).expect("bounded by max");
        let wake = Arc::new(SlotWaker::new(index, self.ready.clone()));
        let waker = Waker::from(wake.clone());
        self.slots.push(Slot { task: None, generation: 0, waker, wake });
        index
    }
}

#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(loom)))]
mod tests;
