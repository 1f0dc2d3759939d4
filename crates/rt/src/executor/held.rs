//! For how long the task that is being polled has held its thread while it waited, in all of its polls.

use std::cell::Cell;
use std::time::Duration;

thread_local! {
    static HELD: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// So far. Outside a task it is what no task was charged for.
pub(crate) fn held() -> Duration {
    HELD.get()
}

/// The task has held its thread for so much longer.
pub(crate) fn add_held(time: Duration) {
    HELD.set(held().saturating_add(time));
}

/// A poll begins, of a task that has held its thread for so long.
pub(super) fn begin(held: Duration) {
    HELD.set(held);
}

/// What the task has held by the end of the poll.
pub(super) fn end() -> Duration {
    HELD.take()
}
