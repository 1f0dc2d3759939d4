//! Locks that know how long a request may still wait (Protego, NSDI '23, §3.2).
//!
//! A request carries a [`budget`] of queueing delay. Before it queues for a contended lock it compares the age of the
//! oldest waiter with what is left. It is [`Refused`] at once if it would not fit. What it waited is deducted, and
//! it leaves the queue when its budget ends there. [`Mutex`], [`RwLock`],
//! [`Semaphore`] and [`Condvar`] are for threads, their twins in [`task`] for async tasks on any
//! executor, and `include/tailwater/sync.h` for C and C++. [`report`] names the contended locks.
//! [`ready`] finds the queues with work among thousands.
//!
//! Code outside a request has no budget and is never refused; neither is a plain `lock()`. A lock
//! that is free never looks at a budget. Nothing is poisoned: a panic unlocks. The arithmetic is
//! [`tailwater_control::asqm`], shared with the simulator. `docs/locks.md` says when to use what.
//!
//! ```
//! use std::time::Duration;
//! use tailwater_sync::{Mutex, Refused, budget};
//! use tailwater_sync::budget::Budget;
//!
//! fn handle(slabs: &Mutex<Vec<u8>>) -> Result<usize, Refused> {
//!     let mut slabs = slabs.lock_within_budget()?;
//!     slabs.push(1);
//!     Ok(slabs.len())
//! }
//!
//! let slabs = Mutex::named("slabs", Vec::new());
//! let answer = budget::scope(Budget::new(Duration::from_micros(200)), || handle(&slabs));
//! assert_eq!(answer, Ok(1));
//! ```

pub mod budget;
pub mod c;
mod clock;
mod condvar;
mod gate;
mod mutex;
mod order;
mod primitive;
mod raw;
pub mod ready;
mod refused;
mod rwlock;
mod semaphore;
mod stats;
pub mod task;

pub use condvar::Condvar;
pub use mutex::{Mutex, MutexGuard};
pub use refused::Refused;
pub use rwlock::{ReadGuard, RwLock, WriteGuard};
pub use semaphore::{Permit, Semaphore};
pub use stats::{LockStats, report, report_top};
