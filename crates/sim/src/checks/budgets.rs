//! Budgets account for all waiting, and no request waits beyond its own.

use super::Finding;
use std::time::Duration;
use tailwater_core::{Instant, Nanos};

/// When a lock is handed over.
pub(crate) fn kept(
    now: Instant,
    lock: u32,
    waited: Duration,
    give_up_at: Option<Instant>,
) -> Finding {
    give_up_at.is_some_and(|at| at < now).then(|| {
        format!("a request waited {} ns for lock {lock}, beyond its budget", waited.nanos())
    })
}

/// When a request is answered: every nanosecond was computing, calling or deducted from its budget.
pub(crate) fn accounted(there: Duration, spent: Duration) -> Finding {
    (there != spent).then(|| {
        format!(
            "a request was in the node for {} ns, but its budget and work account for {} ns",
            there.nanos(),
            spent.nanos()
        )
    })
}
