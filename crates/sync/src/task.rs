//! The same locks for async tasks, on any executor: strictly first in, first out.
//!
//! Every wait is a future that joins the queue at its first poll and may be dropped at any time: it
//! leaves the queue, and passes on what it was given meanwhile. A task needs an
//! [`Alarm`](crate::budget::Alarm) (set with its budget) to give up in time; without one it notices at
//! its next poll. Guards may move between threads. Locking twice within a task waits for ever, or until
//! the budget ends: a task has no thread by which to tell.

mod mutex;
mod rwlock;
mod semaphore;
mod wait;

pub use mutex::{Mutex, MutexGuard};
pub use rwlock::{ReadGuard, RwLock, WriteGuard};
pub use semaphore::{Permit, Semaphore};
pub use wait::{Waiting, WaitingWithinBudget};
