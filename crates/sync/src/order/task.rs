//! What a task holds and waits for, and when it waits in vain.
//!
//! A task is no line of execution: of two branches under one `join`, one may hold a lock across an
//! `await` while the other waits for it, and nothing is wrong. What a task holds is therefore in the
//! way of what it wants only while it can do nothing else: it is pending, it was not woken, and its waker
//! has no clones but those of one wait at one lock. A branch that waits for anything else has left a clone
//! there, or with a waker of its own, which has one. Such a wait is judged once, after the poll;
//! if it is in vain the task is polled again and panics in it. So a deadlock of tasks is named if each was
//! judged in its wait, and a second order without one if both waits were. A task whose waker has another clone, even
//! a forgotten one, is skipped: a missed deadlock is better than a false report.
//!
//! A guard counts for the task that took it until it is dropped, wherever that is. One that was taken
//! [`outside`] of tasks counts for none.

use super::graph::{Named, Tag, note};
use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// A task, for as long as it or one of its guards lives.
#[derive(Clone, Default)]
pub(crate) struct Watched(Arc<Mutex<Ledger>>);

#[derive(Default)]
struct Ledger {
    held: Vec<Named>,
    waits: Vec<Waiting>,
    /// Of the next wait.
    number: u64,
}

struct Waiting {
    number: u64,
    lock: Named,
    /// How many clones of the task's waker it keeps.
    clones: usize,
    judged: bool,
    verdict: Option<String>,
}

/// The task that is being polled, and its waker by address.
type Polled = (Watched, usize);

thread_local! {
    static PRESENT: RefCell<Option<Polled>> = const { RefCell::new(None) };
}

/// Puts the former task of the thread back.
pub(crate) struct Present(Option<Polled>);

impl Watched {
    pub(crate) fn enter(&self, waker: &Waker) -> Present {
        Present(put(Some((self.clone(), address(waker)))))
    }

    /// `clones` there are of its waker, or `None` if it was woken. True once for each wait that is in vain.
    pub(crate) fn waits_in_vain(&self, clones: impl FnOnce() -> Option<usize>) -> bool {
        let mut ledger = self.ledger();
        let Ledger { held, waits, .. } = &mut *ledger;
        let [wait] = &mut waits[..] else {
            return false;
        };
        if wait.judged || clones() != Some(wait.clones) {
            return false;
        }
        wait.judged = true;
        wait.verdict = note(wait.lock, held, "task").err();
        wait.verdict.is_some()
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_polled_with(&self, waker: &Waker) -> bool {
        PRESENT
            .try_with(|present| {
                present.borrow().as_ref().is_some_and(|(task, address_of_its)| {
                    Arc::ptr_eq(&task.0, &self.0) && *address_of_its == address(waker)
                })
            })
            .unwrap_or(false)
    }
}

/// Until what is returned is dropped, no task is polled here.
pub(crate) fn outside() -> Present {
    Present(put(None))
}

impl Drop for Present {
    fn drop(&mut self) {
        put(self.0.take());
    }
}

/// Returns the former one. A thread that ends has no place for one any more, and polls none.
fn put(task: Option<Polled>) -> Option<Polled> {
    PRESENT.try_with(|present| present.replace(task)).ok().flatten()
}

fn present() -> Option<Watched> {
    let task = PRESENT.try_with(|present| present.borrow().as_ref().map(|one| one.0.clone()));
    task.ok().flatten()
}

/// A clone of a waker has its address; a branch's own waker another.
fn address(waker: &Waker) -> usize {
    waker.data().addr()
}

/// A guard's part in its task's ledger.
pub(crate) struct Held(Option<(Watched, u64)>);

impl Held {
    pub(crate) fn by_present_task(tag: &Tag) -> Self {
        Self(present().map(|task| {
            let lock = tag.named();
            task.ledger().held.push(lock);
            (task, lock.0)
        }))
    }

    /// Before the permit is given back: who has it next may be what the task waits for.
    pub(crate) fn end(&mut self) {
        if let Some((task, number)) = self.0.take() {
            let held = &mut task.ledger().held;
            if let Some(at) = held.iter().rposition(|one| one.0 == number) {
                held.remove(at);
            }
        }
    }
}

/// A waiter's part in its task's ledger.
pub(crate) struct Wait(Option<(Watched, u64)>);

impl Wait {
    pub(crate) const NONE: Self = Self(None);

    /// It keeps so many clones of `waker`. Where that is not the task's own, a branch waits, and nothing
    /// is known.
    pub(crate) fn begins(tag: &Tag, waker: &Waker, clones: usize) -> Self {
        let Some(task) = present().filter(|task| task.is_polled_with(waker)) else {
            return Self::NONE;
        };
        let mut ledger = task.ledger();
        ledger.number += 1;
        let (number, lock) = (ledger.number, tag.named());
        ledger.waits.push(Waiting { number, lock, clones, judged: false, verdict: None });
        drop(ledger);
        Self(Some((task, number)))
    }

    /// It is polled again. A future that moved to another task, or under another waker, is not followed.
    ///
    /// # Panics
    ///
    /// If it is in vain.
    pub(crate) fn goes_on(&mut self, waker: &Waker) {
        if self.0.as_ref().is_some_and(|(task, _)| !task.is_polled_with(waker)) {
            *self = Self::NONE;
        }
        let verdict = self.0.as_ref().and_then(|(task, number)| {
            let mut ledger = task.ledger();
            ledger.waits.iter_mut().find(|wait| wait.number == *number)?.verdict.take()
        });
        if let Some(verdict) = verdict {
            panic!("{verdict}");
        }
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        if let Some((task, number)) = &self.0 {
            task.ledger().waits.retain(|wait| wait.number != *number);
        }
    }
}
