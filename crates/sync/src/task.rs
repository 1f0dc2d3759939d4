//! The same locks for async tasks, on any executor: strictly first in, first out.
//!
//! Every wait is a future that joins the queue at its first poll and may be dropped at any time: it
//! leaves the queue, and passes on what it was given meanwhile. A task needs an
//! [`Alarm`](crate::budget::Alarm) (set with its budget) to give up in time; without one it notices at
//! its next poll. Guards may move between threads. Locking twice within a task waits for ever, or until
//! the budget ends; in debug builds an executor with [`Watch`]es, as tailwater's runtime is one, has it
//! panic with the lock's name.

mod mutex;
mod rwlock;
mod semaphore;
mod wait;
mod watch;

pub use mutex::{Mutex, MutexGuard};
pub use rwlock::{ReadGuard, RwLock, WriteGuard};
pub use semaphore::{Permit, Semaphore};
pub use wait::{Waiting, WaitingWithinBudget};
pub use watch::{Watch, Watching};
