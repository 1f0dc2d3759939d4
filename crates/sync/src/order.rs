//! Finds, in debug builds, locks that a thread or a task takes twice or in two orders.
//!
//! Each blocking acquisition by a thread checks what the thread holds and notes "A was held when B was
//! wanted" (`thread`). Of a task this is known only once it waits for a lock and for nothing else (`task`
//! says why). A second order, even without a deadlock this time, panics with the names of both. In
//! release builds nothing of this exists.

#[cfg(not(all(debug_assertions, not(loom))))]
mod absent;
#[cfg(all(debug_assertions, not(loom)))]
mod graph;
#[cfg(all(debug_assertions, not(loom)))]
mod task;
#[cfg(all(debug_assertions, not(loom)))]
mod thread;

#[cfg(not(all(debug_assertions, not(loom))))]
pub(crate) use absent::{Held, Present, Tag, Wait, Watched, outside};
#[cfg(all(debug_assertions, not(loom)))]
pub(crate) use graph::Tag;
#[cfg(all(debug_assertions, not(loom)))]
pub(crate) use task::{Held, Present, Wait, Watched, outside};
